#compdef verbena
# SPDX-License-Identifier: BSD-2-Clause
# Completion of verbena for zsh, as "verbena completion zsh" prints it: hands on what the command
# itself says that a word may become.

_verbena()
{
	local line text help
	local -a whole open
	local command=${~words[1]}

	for line in "${(@f)$("$command" completion words -- \
		"${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
		text=${line%%$'\t'*}
		help=${line#"$text"}
		case $line in
		'') ;;
		:folders) compset -P '*='; _files -/ ;;
		:files*) compset -P '*='; _files -g "${line#:files }" ;;
		*=$'\t'*) open+=("${text//:/\\:}${help/$'\t'/:}") ;;
		*) whole+=("${text//:/\\:}${help/$'\t'/:}") ;;
		esac
	done
	((! $#whole)) || _describe verbena whole
	((! $#open)) || _describe verbena open -S ''
}

if [[ ${funcstack[1]} == _verbena ]]; then
	_verbena "$@"
else
	compdef _verbena verbena
fi
