// SPDX-License-Identifier: MIT
/*
 * bench_map [ROUNDS] - a C++ program for scripts/bench: a map of strings to vectors of strings, with
 * 20,000 keys and about 250,000 values, is built and destroyed ROUNDS (10) times.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using Map = std::map<std::string, std::vector<std::string>>;

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random()
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static __attribute__((noinline)) void build(Map &map)
{
	for (int i = 0; i < 100000; i++) {
		uint64_t random = next_random();
		std::vector<std::string> &values =
			map["key with a long prefix " + std::to_string(random % 20000)];

		for (uint64_t n = 1 + (random >> 32) % 4; n > 0; n--)
			values.emplace_back(24 + (random >> 40) % 32, 'x');
	}
}

int main(int argc, char **argv)
{
	int nr_rounds = argc > 1 ? atoi(argv[1]) : 10;
	size_t nr_keys = 0;

	for (int i = 0; i < nr_rounds; i++) {
		Map map;

		build(map);
		nr_keys += map.size();
	}
	return nr_keys ? 0 : 1;
}
