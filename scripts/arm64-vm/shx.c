/* SPDX-License-Identifier: MIT */
/*
 * shx - how things leave the guest, by Arm semihosting (qemu -semihosting-config userspace=on).
 *
 *	shx put FILE HOSTFILE		// QEMU writes it, into its own working directory
 *	shx exit STATUS			// QEMU ends with that
 *
 * Needs no driver and no libc.
 */
typedef unsigned long word;

enum { SYS_OPENAT = 56, SYS_READ = 63, SYS_WRITE = 64, SYS_EXIT = 93 };
enum { HOST_OPEN = 0x01, HOST_CLOSE = 0x02, HOST_WRITE = 0x05, HOST_EXIT = 0x20 };
enum { HOST_MODE_WB = 5, HOST_STOPPED_BY_EXIT = 0x20026 };
enum { PAGE = 4096 };

static word linux_call(word number, word a, word b, word c)
{
	register word x8 __asm__("x8") = number;
	register word x0 __asm__("x0") = a;
	register word x1 __asm__("x1") = b;
	register word x2 __asm__("x2") = c;
	register word x3 __asm__("x3") = 0;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}

static long host_call(word operation, volatile word *arguments)
{
	register word x0 __asm__("x0") = operation;
	register word x1 __asm__("x1") = (word)arguments;

	__asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
	return (long)x0;
}

static word length(const char *text)
{
	word n = 0;

	while (text[n])
		n++;
	return n;
}

static int fail(const char *message)
{
	linux_call(SYS_WRITE, 2, (word)message, length(message));
	return 1;
}

static int leave(const char *status)
{
	word number = 0;

	while (*status)
		number = number * 10 + (word)(*status++ - '0');
	host_call(HOST_EXIT, (volatile word[]){ HOST_STOPPED_BY_EXIT, number });
	return fail("shx: still here\n");
}

static int put(const char *from, const char *to)
{
	static char buffer[16 * PAGE] __attribute__((aligned(PAGE)));
	long in = (long)linux_call(SYS_OPENAT, (word)-100, (word)from, 0);
	long out = host_call(HOST_OPEN, (volatile word[]){ (word)to, HOST_MODE_WB, length(to) });
	long nr;

	if (in < 0 || out < 0)
		return fail("shx: cannot open\n");
	/* QEMU does not page in what it reads. */
	for (word i = 0; i < sizeof(buffer); i += PAGE)
		((volatile char *)buffer)[i] = 0;
	while ((nr = (long)linux_call(SYS_READ, (word)in, (word)buffer, sizeof(buffer))) > 0) {
		volatile word arguments[] = { (word)out, (word)buffer, (word)nr };

		if (host_call(HOST_WRITE, arguments))
			return fail("shx: cannot write\n");
	}
	host_call(HOST_CLOSE, (volatile word[]){ (word)out });
	return 0;
}

static int run(word nr, char **words)
{
	if (nr == 3 && words[1][0] == 'e')
		return leave(words[2]);
	if (nr == 4 && words[1][0] == 'p')
		return put(words[2], words[3]);
	return fail("usage: shx put FILE HOSTFILE | shx exit STATUS\n");
}

__attribute__((used)) static void start(word *stack)
{
	linux_call(SYS_EXIT, (word)run(stack[0], (char **)(stack + 1)), 0, 0);
}

__asm__(".globl _start\n"
	"_start: mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x0, sp\n"
	"	bl start\n");
