// SPDX-License-Identifier: MIT
/*
 * demo - what scripts/demo records: a program with something to see on both sides.
 *
 *	Matrix::multiply	computes: high IPC
 *	sort_numbers		branches that nobody can predict
 *	Index::follow		cache misses
 *	split_words		temporaries, in a second thread
 *	build_report		a heap peak in the middle of the run, gone before the end
 *	Cache::remember		never gives back what it remembers: 300 entries
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))

static uint64_t random_state = 1;

static uint64_t next_random()
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return random_state >> 33;
}

class Matrix {
public:
	explicit Matrix(size_t size) : size(size), cells(size * size, 1.5f) {}
	NOINLINE float multiply(const Matrix &other, Matrix &product) const;

private:
	size_t size;
	std::vector<float> cells;
};

float Matrix::multiply(const Matrix &other, Matrix &product) const
{
	for (size_t i = 0; i < size; i++)
		for (size_t k = 0; k < size; k++)
			for (size_t j = 0; j < size; j++)
				product.cells[i * size + j] +=
					cells[i * size + k] * other.cells[k * size + j];
	return product.cells[0];
}

/* A cycle through all slots in random order: every step is a miss. */
class Index {
public:
	explicit Index(size_t nr);
	NOINLINE uint32_t follow(size_t steps, uint32_t at) const;

private:
	std::vector<uint32_t> next;
};

Index::Index(size_t nr) : next(nr)
{
	for (uint32_t i = 0; i < nr; i++)
		next[i] = i;
	for (size_t i = nr - 1; i > 0; i--)
		std::swap(next[i], next[next_random() % i]);
}

uint32_t Index::follow(size_t steps, uint32_t at) const
{
	while (steps--)
		at = next[at];
	return at;
}

NOINLINE static size_t split_words(const std::string &text)
{
	size_t total = 0;

	for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
		end = text.find(' ', begin);
		if (end == std::string::npos)
			end = text.size();
		std::string word(text, begin, end - begin);
		total += word.size();
	}
	return total;
}

NOINLINE static size_t build_report(size_t nr_pages)
{
	std::vector<std::unique_ptr<char[]>> pages;

	for (size_t i = 0; i < nr_pages; i++) {
		pages.emplace_back(new char[16 * 1024]);
		snprintf(pages.back().get(), 16 * 1024, "page %zu", i);
	}
	return pages.size();
}

class Cache {
public:
	NOINLINE void remember(const std::string &text);

private:
	struct Entry {
		char text[1000];
		Entry *older;
	};
	Entry *newest = nullptr;
};

void Cache::remember(const std::string &text)
{
	Entry *entry = new Entry;

	snprintf(entry->text, sizeof(entry->text), "%s", text.c_str());
	entry->older = newest;
	newest = entry;
}

static size_t read_texts(Cache &cache)
{
	std::string text;
	size_t total = 0;

	for (int i = 0; i < 500; i++)
		text += "a_word_that_needs_the_heap_" + std::to_string(i) + " ";
	for (int i = 0; i < 3000; i++) {
		total += split_words(text);
		if (i % 10 == 0)
			cache.remember(text);
	}
	return total;
}

static float compute(int rounds)
{
	Matrix a(192), b(192), product(192);
	float sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += a.multiply(b, product);
	return sum;
}

NOINLINE static uint32_t sort_numbers(int rounds)
{
	std::vector<uint32_t> numbers(1 << 18);
	uint32_t median = 0;

	for (int i = 0; i < rounds; i++) {
		for (uint32_t &number : numbers)
			number = (uint32_t)next_random();
		std::sort(numbers.begin(), numbers.end());
		median = numbers[numbers.size() / 2];
	}
	return median;
}

int main(int argc, char **argv)
{
	int size = argc > 1 ? atoi(argv[1]) : 3;
	Index index(4 << 20);
	size_t words = 0;
	Cache cache;

	std::thread reader([&] { words = read_texts(cache); });
	float sum = compute(60 * size);
	uint32_t median = sort_numbers(8 * size);
	size_t pages = build_report(2000);
	uint32_t at = index.follow((size_t)1000000 * (size_t)size, 0);
	reader.join();

	printf("sum %.0f, median %u, %zu pages, %zu bytes of words, slot %u\n", sum, median, pages,
	       words, at);
	return 0;
}
