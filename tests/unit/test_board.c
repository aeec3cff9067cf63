/* SPDX-License-Identifier: BSD-2-Clause */

/* The rendezvous between processes. */
#include "tests/test.h"

#include "transport/process/board.h"
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static pid_t server;
static int rank[2];

static int set_up(void **state)
{
	uint16_t port;
	int listener = board_listen("127.0.0.1:0", &port);
	char where[32];

	(void)state;
	assert_true(listener >= 0);
	server = fork();
	if (server == 0)
		_exit(board_serve(listener, 2, 0) == 0 ? 0 : 3);
	assert_true(server > 0);
	close(listener);
	snprintf(where, sizeof(where), "127.0.0.1:%u", port);
	for (int r = 0; r < 2; r++) {
		rank[r] = board_connect(where, 5);
		assert_true(rank[r] >= 0);
	}
	return 0;
}

static void server_ends(int code)
{
	int status = 0;

	assert_int_equal(waitpid(server, &status, 0), server);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), code);
}

static void both_end(void)
{
	for (int r = 0; r < 2; r++) {
		assert_int_equal(board_end(rank[r]), 0);
		close(rank[r]);
	}
	server_ends(0);
}

static void test_what_one_puts_the_other_gets(void **state)
{
	char got[8] = "";

	(void)state;
	assert_int_equal(board_put(rank[0], "key", "bytes", 5), 0);
	assert_int_equal(board_get(rank[1], "key", got, 5), 0);
	assert_string_equal(got, "bytes");
	assert_int_equal(board_get(rank[0], "key", got, 5), 0);
	assert_int_equal(board_put(rank[1], "empty", NULL, 0), 0);
	assert_int_equal(board_get(rank[0], "empty", NULL, 0), 0);
	both_end();
}

static void test_a_get_waits(void **state)
{
	char got[8] = "";
	pid_t other = fork();

	(void)state;
	if (other == 0)
		_exit(board_get(rank[1], "late", got, 4) == 0 && strcmp(got, "here") == 0 ? 0 : 1);
	/* The server has the request before this put or after it: both must do. */
	assert_int_equal(board_put(rank[0], "late", "here", 4), 0);
	int status = 1;
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	both_end();
}

static void test_what_is_refused(void **state)
{
	char got[8], key[BOARD_KEY_MAX + 1];

	(void)state;
	assert_int_equal(board_put(rank[0], "key", "bytes", 5), 0);
	assert_int_equal(board_put(rank[1], "key", "other", 5), -EEXIST);
	assert_int_equal(board_get(rank[1], "key", got, 4), -EMSGSIZE);
	/* And the connection is still in step. */
	assert_int_equal(board_get(rank[1], "key", got, 5), 0);
	assert_memory_equal(got, "bytes", 5);
	memset(key, 'k', BOARD_KEY_MAX);
	key[BOARD_KEY_MAX] = '\0';
	assert_int_equal(board_put(rank[0], key, NULL, 0), -EINVAL);
	both_end();
}

static void test_a_part_is_taken_of_what_is_longer(void **state)
{
	char long_one[1000], got[8] = "";

	(void)state;
	memset(long_one, 'l', sizeof(long_one));
	assert_int_equal(board_put(rank[0], "long", long_one, sizeof(long_one)), 0);
	assert_int_equal(board_fetch(rank[1], "long", got, 3), sizeof(long_one));
	assert_string_equal(got, "lll");
	assert_int_equal(board_put(rank[0], "key", "bytes", 5), 0);
	assert_int_equal(board_fetch(rank[1], "key", got, sizeof(got)), 5);
	assert_memory_equal(got, "bytes", 5);
	both_end();
}

static void test_nobody_is_waited_for_without_end(void **state)
{
	uint16_t port;
	int listener = board_listen("127.0.0.1:0", &port);

	(void)state;
	assert_true(listener >= 0);
	assert_int_equal(board_serve(listener, 2, 1), -ETIMEDOUT);
	close(listener);
}

static void test_a_rank_that_dies_ends_the_waiting(void **state)
{
	(void)state;
	close(rank[0]);
	assert_int_equal(board_get(rank[1], "never", NULL, 0), -ECONNRESET);
	assert_int_equal(board_end(rank[1]), 0);
	close(rank[1]);
	server_ends(3);
}

static void test_nonsense_is_a_rank_that_died(void **state)
{
	(void)state;
	assert_int_equal(write(rank[0], "GET / HTTP/1.1\r\n\r\n", 18), 18);
	assert_int_equal(board_get(rank[1], "never", NULL, 0), -ECONNRESET);
	assert_int_equal(board_end(rank[1]), 0);
	close(rank[0]);
	close(rank[1]);
	server_ends(3);
}

static void test_addresses(void **state)
{
	uint16_t port;

	(void)state;
	assert_int_equal(board_listen("127.0.0.1", &port), -EINVAL);
	assert_int_equal(board_listen("localhost:1", &port), -EINVAL);
	assert_int_equal(board_connect("nowhere", 0), -EINVAL);
}

#define U(name) cmocka_unit_test_setup(name, set_up)
RUN(U(test_what_one_puts_the_other_gets), U(test_a_get_waits), U(test_what_is_refused),
    U(test_a_part_is_taken_of_what_is_longer), T(test_nobody_is_waited_for_without_end),
    U(test_a_rank_that_dies_ends_the_waiting), U(test_nonsense_is_a_rank_that_died),
    T(test_addresses))
