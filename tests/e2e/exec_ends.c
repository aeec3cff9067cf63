/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends while a thread of its asks for events of rdma_cm, again and again: there is none, and then
 * that is not told anything any more. Its standard output is so much that whoever reads it says how
 * long the end takes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int file;

static void *asks(void *unused)
{
	struct rdma_ucm_event_resp response;
	struct {
		struct rdma_ucm_cmd_hdr header;
		struct rdma_ucm_get_event event;
	} command = {{RDMA_USER_CM_CMD_GET_EVENT, sizeof(command.event), sizeof(response)},
		     {(uintptr_t)&response}};

	(void)unused;
	while (write(file, &command, sizeof(command)) < 0 && errno == EAGAIN)
		;
	_exit(9);
}

int main(void)
{
	static char much[1 << 18];
	pthread_t thread;

	file = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (file < 0 || setvbuf(stdout, NULL, _IOFBF, sizeof(much)) != 0 ||
	    fwrite(much, sizeof(much) - 1, 1, stdout) != 1 ||
	    pthread_create(&thread, NULL, asks, NULL) != 0)
		return 1;
	usleep(100000);
	return 0;
}
