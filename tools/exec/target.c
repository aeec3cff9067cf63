/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRIPTS_MAX = 5, TEXT_MAX = 256 };

/* ---- where it is ---- */

static int usable(const char *path)
{
	struct stat stat_of;

	if (stat(path, &stat_of) != 0)
		return -errno;
	if (!S_ISREG(stat_of.st_mode) || access(path, X_OK) != 0)
		return -EACCES;
	return 0;
}

static int in_path(const char *command, char ret_path[PATH_MAX])
{
	const char *at = getenv("PATH");
	int ret = -ENOENT;

	if (!at)
		at = "/usr/local/bin:/usr/bin:/bin";
	for (;;) {
		const char *end = strchrnul(at, ':');
		const int length = (int)(end - at);

		if (snprintf(ret_path, PATH_MAX, "%.*s/%s", length ? length : 1, length ? at : ".",
			     command) < PATH_MAX) {
			const int found = usable(ret_path);

			if (found == 0)
				return 0;
			if (found == -EACCES)
				ret = found;
		}
		if (!*end)
			return ret;
		at = end + 1;
	}
}

static int find(const char *command, char ret_path[PATH_MAX])
{
	if (!strchr(command, '/'))
		return in_path(command, ret_path);
	if (snprintf(ret_path, PATH_MAX, "%s", command) >= PATH_MAX)
		return -ENOENT;
	return usable(ret_path);
}

/* ---- what it is ---- */

static int refused(char reason[TARGET_REASON_MAX], const char *path, const char *why)
{
	snprintf(reason, TARGET_REASON_MAX, "%.*s: %s", TARGET_REASON_MAX / 2, path, why);
	return -ENOEXEC;
}

/* At most @room - 1 bytes at @offset, and a zero behind them. */
static bool text_at(int fd, uint64_t offset, char *ret_text, size_t room)
{
	const ssize_t got = pread(fd, ret_text, room - 1, (off_t)offset);

	ret_text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

struct image {
	int fd;
	ElfW(Ehdr) header;
	ElfW(Phdr) interp, dynamic; /* p_filesz 0: there is none */
};

static bool read_image(int fd, struct image *ret_image)
{
	ElfW(Ehdr) *header = &ret_image->header;

	*ret_image = (struct image){.fd = fd};
	if (pread(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header) ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_phentsize != sizeof(ElfW(Phdr)))
		return false;
	for (uint32_t i = 0; i < header->e_phnum; i++) {
		ElfW(Phdr) part;

		if (pread(fd, &part, sizeof(part), (off_t)(header->e_phoff + i * sizeof(part))) !=
		    (ssize_t)sizeof(part))
			return false;
		if (part.p_type == PT_INTERP)
			ret_image->interp = part;
		if (part.p_type == PT_DYNAMIC)
			ret_image->dynamic = part;
	}
	return true;
}

/* Where in the file the byte is that will lie at @address. */
static uint64_t file_offset(const struct image *image, uint64_t address)
{
	for (uint32_t i = 0; i < image->header.e_phnum; i++) {
		ElfW(Phdr) part;

		if (pread(image->fd, &part, sizeof(part),
			  (off_t)(image->header.e_phoff + i * sizeof(part))) !=
		    (ssize_t)sizeof(part))
			break;
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
		    address - part.p_vaddr < part.p_filesz)
			return part.p_offset + (address - part.p_vaddr);
	}
	return 0;
}

static bool is_sanitizer(const char *soname)
{
	static const char *const names[] = {"libasan.so",   "libtsan.so",	"liblsan.so",
					    "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(soname, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool dynamic_at(const struct image *image, uint64_t i, ElfW(Dyn) * ret_entry)
{
	return (i + 1) * sizeof(*ret_entry) <= image->dynamic.p_filesz &&
	       pread(image->fd, ret_entry, sizeof(*ret_entry),
		     (off_t)(image->dynamic.p_offset + i * sizeof(*ret_entry))) ==
		       (ssize_t)sizeof(*ret_entry) &&
	       ret_entry->d_tag != DT_NULL;
}

static bool has_verbs(const char *folder)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/libibverbs.so", folder) < (int)sizeof(path) &&
	       access(path, R_OK) == 0;
}

/* The first of @folders, with colons between them, that has a libibverbs.so. */
static void find_rpath(char *folders, const char *program, struct target *target)
{
	char *rest = NULL;

	for (char *one = strtok_r(folders, ":", &rest); one; one = strtok_r(NULL, ":", &rest)) {
		const char *below = strncmp(one, "$ORIGIN", 7) == 0	? one + 7
				    : strncmp(one, "${ORIGIN}", 9) == 0 ? one + 9
									: NULL;
		char folder[TARGET_FOLDER_MAX];
		const char *slash = strrchr(program, '/');
		const int origin = below && slash ? (int)(slash - program) : 0;

		if (snprintf(folder, sizeof(folder), "%.*s%s", origin, program,
			     below ? below : one) < (int)sizeof(folder) &&
		    has_verbs(folder) && !target->rpath[0])
			memcpy(target->rpath, folder, sizeof(folder));
	}
}

static void read_dynamic(const struct image *image, const char *path, struct target *target)
{
	uint64_t names = 0, rpath = 0;
	char folders[PATH_MAX];
	bool has_runpath = false;
	ElfW(Dyn) entry;

	for (uint64_t i = 0; dynamic_at(image, i, &entry); i++) {
		if (entry.d_tag == DT_STRTAB)
			names = file_offset(image, entry.d_un.d_ptr);
		if (entry.d_tag == DT_RPATH)
			rpath = entry.d_un.d_val;
		has_runpath = has_runpath || entry.d_tag == DT_RUNPATH;
	}
	for (uint64_t i = 0; names != 0 && dynamic_at(image, i, &entry); i++) {
		char soname[TARGET_SONAME_MAX];

		if (entry.d_tag == DT_NEEDED &&
		    text_at(image->fd, names + entry.d_un.d_val, soname, sizeof(soname)) &&
		    is_sanitizer(soname) && !target->sanitizer[0])
			memcpy(target->sanitizer, soname, sizeof(soname));
	}
	/* ld.so(8): the one counts where there is not the other. */
	if (names != 0 && rpath != 0 && !has_runpath &&
	    text_at(image->fd, names + rpath, folders, sizeof(folders)))
		find_rpath(folders, path, target);
}

static int check_image(const struct image *image, const char *path, struct target *target,
		       char reason[TARGET_REASON_MAX])
{
	char interp[TEXT_MAX] = "", own[TEXT_MAX] = "";
	struct image self;
	const int self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool is_same = self_fd >= 0 && read_image(self_fd, &self) &&
		       self.header.e_machine == image->header.e_machine &&
		       self.header.e_ident[EI_CLASS] == image->header.e_ident[EI_CLASS];

	if (is_same && self.interp.p_filesz != 0)
		(void)text_at(self_fd, self.interp.p_offset, own, sizeof(own));
	if (self_fd >= 0)
		close(self_fd);
	if (!is_same)
		return refused(reason, path, "a program of another machine");
	if (image->interp.p_filesz == 0)
		return refused(reason, path,
			       "linked statically: nothing can take the place of its libraries");
	(void)text_at(image->fd, image->interp.p_offset, interp, sizeof(interp));
	if (strstr(interp, "/ld-musl"))
		return refused(reason, path, "of another C library (musl) than ours (glibc)");
	read_dynamic(image, path, target);
	return 0;
}

/* The program of a "#!" line. */
static bool is_script(int fd, char ret_program[PATH_MAX])
{
	char line[TEXT_MAX];
	char *at;

	if (!text_at(fd, 0, line, sizeof(line)) || strncmp(line, "#!", 2) != 0)
		return false;
	at = line + 2 + strspn(line + 2, " \t");
	at[strcspn(at, " \t\r\n")] = '\0';
	snprintf(ret_program, PATH_MAX, "%s", at);
	return *at != '\0';
}

static int check_file(const char *path, unsigned int depth, struct target *target,
		      char reason[TARGET_REASON_MAX])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char program[PATH_MAX];
	struct image image;
	struct stat stat_of;
	int ret = 0;

	if (fd < 0)
		return 0; /* it may be run, but not read: who knows */
	if (fstat(fd, &stat_of) == 0 && stat_of.st_mode & (S_ISUID | S_ISGID) &&
	    (stat_of.st_uid != geteuid() || stat_of.st_mode & S_ISGID))
		ret = refused(reason, path,
			      "runs with the rights of its owner (setuid or setgid): the loader "
			      "takes no preloaded library there");
	else if (is_script(fd, program))
		ret = depth < SCRIPTS_MAX ? check_file(program, depth + 1, target, reason) : 0;
	else if (read_image(fd, &image))
		ret = check_image(&image, path, target, reason);
	close(fd);
	return ret;
}

/* ---- what drops the environment ---- */

static bool takes_away(const char *name)
{
	return strncmp(name, "LD_PRELOAD", 10) == 0 && (name[10] == '\0' || name[10] == '=');
}

/* env(1): whether what it starts has what is preloaded no more. */
static bool empties(char *const *argv)
{
	for (uint32_t i = 1; argv[i]; i++) {
		const char *word = argv[i];

		if (strcmp(word, "-") == 0 || strncmp(word, "--i", 3) == 0 || takes_away(word) ||
		    (strncmp(word, "--unset=", 8) == 0 && takes_away(word + 8)))
			return true;
		if (word[0] == '-' && word[1] != '-') {
			const size_t letters = strcspn(word + 1, "uCS");
			const bool unsets = word[1 + letters] == 'u';
			const char *value = word[1 + letters] && word[2 + letters]
						    ? word + 2 + letters
						    : argv[i + 1];

			if (memchr(word + 1, 'i', letters) ||
			    (unsets && value && takes_away(value)))
				return true;
			if (word[1 + letters] && value && value == argv[i + 1])
				i++;
		} else if (word[0] != '-' && !strchr(word, '=')) {
			break;
		}
	}
	return false;
}

int target_find(char *const *argv, struct target *ret_target, char ret_reason[TARGET_REASON_MAX])
{
	const char *command = argv[0], *name = strrchr(command, '/');
	int ret;

	*ret_target = (struct target){.sanitizer = ""};
	ret = find(command, ret_target->path);
	if (ret)
		return ret;
	name = name ? name + 1 : command;
	if (strcmp(name, "sudo") == 0 || strcmp(name, "doas") == 0 || strcmp(name, "su") == 0)
		return refused(ret_reason, command,
			       "drops preloaded libraries; say it the other way round: \"sudo "
			       "verbena exec -- COMMAND\"");
	if (strcmp(name, "env") == 0 && empties(argv))
		return refused(ret_reason, command,
			       "drops preloaded libraries here; say it the other way round: \"env "
			       "-i verbena exec -- COMMAND\"");
	return check_file(ret_target->path, 0, ret_target, ret_reason);
}
