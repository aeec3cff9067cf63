// SPDX-License-Identifier: BSD-2-Clause

// Threads of C++: one hands numbers to another, which sums them up.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
#include <verbena/program.h>

extern "C" int prog_main(const struct vb_prog *prog)
{
	const auto begin = std::chrono::steady_clock::now();
	std::mutex lock;
	std::condition_variable changed;
	std::queue<int> numbers;
	int sum = 0;

	std::thread adder([&] {
		for (int taken = 0; taken < 10; taken++) {
			std::unique_lock<std::mutex> held(lock);
			changed.wait(held, [&] { return !numbers.empty(); });
			sum += numbers.front();
			numbers.pop();
		}
	});
	for (int i = 1; i <= 10; i++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
		std::lock_guard<std::mutex> held(lock);
		numbers.push(i);
		changed.notify_one();
	}
	adder.join();
	if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(10))
		return -1;
	prog->say(prog, sum == 55 ? "55" : "another sum");
	return sum == 55 ? 0 : -1;
}

VB_MAIN(prog_main)
