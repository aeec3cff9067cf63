# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion of verbena for bash, as "verbena completion bash" prints it: hands on what the command
# itself says that a word may become.

# bash takes words apart at "=", as in --set=KEY and KEY=VALUE, and replaces what is behind the last one.
_verbena()
{
	local i word text cut='' typed=() command=${COMP_WORDS[0]/#\~/$HOME}

	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((i > 1)) && [[ $word == "=" || ${COMP_WORDS[i - 1]} == "=" ]]; then
			typed[${#typed[@]} - 1]+=$word
		else
			typed+=("$word")
		fi
	done
	word=${typed[${#typed[@]} - 1]}
	[[ $word != *=* ]] || cut=${word%=*}=
	word=${word#"$cut"}
	[[ $COMP_WORDBREAKS == *=* ]] || cut=
	COMPREPLY=()
	while IFS=$'\t' read -r text _; do
		case $text in
		:folders) _verbena_files "$word" ;;
		:files*) _verbena_files "$word" "${text#:files }" ;;
		*=)
			COMPREPLY+=("${text#"$cut"}")
			compopt -o nospace
			;;
		*) COMPREPLY+=("${text#"$cut"}") ;;
		esac
	done < <("$command" completion words -- "${typed[@]}" 2>/dev/null)
	return 0
}

# BEGIN [PATTERN]: folders, and files of that pattern
_verbena_files()
{
	local file

	compopt -o filenames
	while IFS= read -r file; do
		# shellcheck disable=SC2053
		[[ ! -d $file && ($# == 1 || $file != $2) ]] || COMPREPLY+=("$file")
	done < <(compgen -f -- "$1")
}

complete -F _verbena verbena
