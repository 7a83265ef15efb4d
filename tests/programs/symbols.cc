// SPDX-License-Identifier: MIT
// Names to look up: templates, lambdas, members of local classes, exceptions (cold parts), static
// functions of one name in two namespaces; inlined many levels deep at -O2.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace shapes {

struct Circle { double radius; };
struct Square { double side; };
using Shape = std::variant<Circle, Square, std::string>;

static double area(const Shape &shape)
{
	struct Visitor {
		double operator()(const Circle &circle) const { return 3.14 * circle.radius * circle.radius; }
		double operator()(const Square &square) const { return square.side * square.side; }
		double operator()(const std::string &text) const
		{
			if (text.empty())
				throw std::invalid_argument("a shape without a name");
			return static_cast<double>(text.size());
		}
	};
	return std::visit(Visitor(), shape);
}

} // namespace shapes

namespace words {

template <int N> struct Key {
	int value;
	bool operator<(const Key &other) const { return value < other.value; }
};

template <int N> class Index {
public:
	void add(int value, std::string word)
	{
		auto &list = words_[Key<N>{ value % N }];

		list.push_back(std::move(word));
		if (list.size() > 20)
			shrink(list);
	}

	std::size_t total() const
	{
		return std::accumulate(words_.begin(), words_.end(), std::size_t(0),
				       [](std::size_t sum, const auto &entry) {
					       return sum + entry.second.size();
				       });
	}

private:
	static void shrink(std::vector<std::string> &list)
	{
		std::sort(list.begin(), list.end(), [](const std::string &a, const std::string &b) {
			return a.size() < b.size() || (a.size() == b.size() && a < b);
		});
		list.resize(10);
	}

	std::map<Key<N>, std::vector<std::string>> words_;
};

static double area(int n)
{
	Index<17> seventeen;
	Index<101> more;

	for (int i = 0; i < n; i++) {
		seventeen.add(i * 7919, std::to_string(i));
		more.add(i * 31, std::string(static_cast<std::size_t>(i % 40), 'x'));
	}
	return static_cast<double>(seventeen.total() + more.total());
}

} // namespace words

extern "C" __attribute__((noinline)) int symbols_plain(int n)
{
	return n * 3;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 1000;
	std::vector<shapes::Shape> all;
	double sum = words::area(n);

	for (int i = 0; i < n; i++) {
		switch (i % 3) {
		case 0: all.emplace_back(shapes::Circle{ 1.0 * i }); break;
		case 1: all.emplace_back(shapes::Square{ 2.0 * i }); break;
		default: all.emplace_back(std::to_string(i)); break;
		}
	}
	auto scale = std::make_unique<int>(symbols_plain(argc));
	for (const auto &shape : all)
		sum += shapes::area(shape) * *scale;
	std::printf("%.0f\n", sum);
	return 0;
}
