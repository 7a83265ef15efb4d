// SPDX-License-Identifier: MIT
// Templates to look up: regular expressions, maps, variants and sorting for many types, in more than
// 100 KB of code that is inlined many levels deep at -O2.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace expression {

template <class Left, class Right, class Operation> struct Binary {
	Left left;
	Right right;
	double operator()(double x) const { return Operation()(left(x), right(x)); }
};

struct Variable {
	double operator()(double x) const { return x; }
};

template <int N> struct Power {
	double operator()(double x) const
	{
		if constexpr (N % 2)
			return x * Power<N / 2>()(x) * Power<N / 2>()(x);
		else
			return Power<N / 2>()(x) * Power<N / 2>()(x);
	}
};

template <> struct Power<0> {
	double operator()(double) const { return 1; }
};

template <class Left, class Right> auto operator+(Left left, Right right)
{
	return Binary<Left, Right, std::plus<double>>{ left, right };
}

template <std::size_t... N> double polynomial(double x, std::index_sequence<N...>)
{
	return (... + (Variable() + Power<int(N)>())(x));
}

} // namespace expression

namespace tables {

template <int N> struct Record {
	std::array<int, N> values;
	std::string name;
	bool operator<(const Record &other) const { return std::tie(name, values) < std::tie(other.name, other.values); }
};

template <class Key> class Table {
public:
	void add(const Key &key, const std::string &word)
	{
		ordered_[key].insert(word);
		hashed_[word].push_back(key);
	}

	std::size_t sorted() const
	{
		std::vector<std::pair<std::string, std::vector<Key>>> all(hashed_.begin(), hashed_.end());

		std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
		return all.size() + ordered_.size();
	}

private:
	std::map<Key, std::set<std::string>> ordered_;
	std::unordered_map<std::string, std::vector<Key>> hashed_;
};

template <int N> std::size_t fill(const std::string &text)
{
	Table<Record<N>> records;
	Table<std::tuple<int, std::string, double>> tuples;
	std::istringstream words(text);
	std::variant<int, std::string, Record<N>> last;

	for (std::string word; words >> word; last = word) {
		records.add({ {}, word }, word);
		tuples.add({ N, word, 1.5 * N }, word);
	}
	return records.sorted() + tuples.sorted() +
	       std::visit([](const auto &value) { return sizeof(value); }, last);
}

template <int... N> std::size_t fill_all(const std::string &text, std::integer_sequence<int, N...>)
{
	return (... + fill<N + 1>(text));
}

} // namespace tables

int main(int argc, char **argv)
{
	std::string text = argc > 1 ? argv[1] : "a few words, all of them short";
	std::size_t found = tables::fill_all(text, std::make_integer_sequence<int, 6>());

	const std::regex pattern("[a-z]+|\\d{2,}");

	for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
		found += at->str().size();
	std::printf("%zu %g\n", found, expression::polynomial(argc, std::make_index_sequence<24>()));
	return 0;
}
