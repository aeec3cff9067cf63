/* SPDX-License-Identifier: BSD-2-Clause */
/* Forks with a device open, closes it and opens it again at once, while its child is still on its
 * way out of fork(). */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void sleepy(void)
{
	usleep(300000);
}

int main(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	int status = 1;
	pid_t child;

	if (pthread_atfork(NULL, NULL, sleepy) != 0)
		return 1;
	list = ibv_get_device_list(NULL);
	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!context)
		return 1;
	child = fork();
	if (child == 0)
		_exit(0);
	if (child < 0 || ibv_close_device(context) != 0)
		return 1;
	context = ibv_open_device(list[0]);
	if (!context)
		perror("opened again");
	else
		ibv_close_device(context);
	ibv_free_device_list(list);
	return waitpid(child, &status, 0) != child || status != 0 || !context;
}
