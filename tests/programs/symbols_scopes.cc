// SPDX-License-Identifier: MIT
// PFLAGS: -fno-ipa-icf
// Functions that no other file can call, inlined into their callers: gcc gives them no linkage name,
// so what they are in is only told by the entries around theirs.  Each is called in one place but
// twice(), which is inlined once and has code of its own as well.
#include <cstdio>

namespace outer {
namespace {

struct Table {
	int values[16];

	int in_class(int n) const { return values[n & 15] * 3 + n; }
	int out_of_class(int n) const;
};

int Table::out_of_class(int n) const
{
	struct Local {
		int in_local_class(int n) const { return n * 7 ^ n >> 3; }
	};

	return Local().in_local_class(values[n & 15]) + n;
}

int in_anonymous(int n)
{
	return n * 31 ^ n >> 5;
}

} // namespace

namespace inner {

static int in_namespace(int n)
{
	return n * 13 ^ n >> 7;
}

static int twice(int n)
{
	return n * 11 ^ n >> 2;
}

} // namespace inner

__attribute__((noinline)) int sum(const char *text)
{
	Table table = {};
	int n = 0;

	for (; *text; text++) {
		table.values[n & 15] = *text;
		n += table.in_class(*text) + table.out_of_class(n) + in_anonymous(n) + inner::in_namespace(n) +
		     inner::twice(n);
	}
	return n;
}

int (*volatile pointer)(int) = inner::twice;

} // namespace outer

static int at_top(int n)
{
	return n * 17 ^ n >> 11;
}

int main(int argc, char **argv)
{
	int n = at_top(outer::sum(argv[0])) + outer::pointer(argc);

	printf("%d\n", n);
	return 0;
}
