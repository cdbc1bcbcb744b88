/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preads of the loop and nothing else: what nobody who reads these files can
 * do for less. With -n it also takes the numbers out of the texts, which is the
 * least that somebody who wants to decide by them has to do.
 *
 *	pread [-n] SAMPLES_PER_WINDOW FAST... -- WINDOW...
 *
 * Each line on standard input is a number of windows to read. It is answered with
 * the nanoseconds of CPU, user and system, that they took.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char buf[4096];
static volatile unsigned long sum;

static void numbers(const char *p, const char *end)
{
	unsigned long s = 0;

	while (p < end) {
		unsigned long v = 0;

		while (p < end && (unsigned char)(*p - '0') > 9)
			p++;
		while (p < end && (unsigned char)(*p - '0') <= 9)
			v = v * 10 + (*p++ - '0');
		s += v;
	}
	sum += s;
}

static void sample(const int *fds, int n, int parse)
{
	for (int i = 0; i < n; i++) {
		ssize_t got = pread(fds[i], buf, sizeof(buf), 0);

		if (got < 0)
			exit(1);
		if (parse)
			numbers(buf, buf + got);
	}
}

static long long cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int parse = argc > 1 && !strcmp(argv[1], "-n");
	int first = 2 + parse, fast = 0, all = 0;
	int *fds = malloc(argc * sizeof(int));
	int samples, windows;

	if (argc < first || !fds)
		return 2;
	samples = atoi(argv[first - 1]);
	for (int i = first; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			fast = all;
			continue;
		}
		fds[all] = open(argv[i], O_RDONLY);
		if (fds[all++] < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	while (scanf("%d", &windows) == 1) {
		long long from = cpu();

		while (windows-- > 0) {
			for (int i = 0; i < samples; i++)
				sample(fds, fast, parse);
			sample(fds + fast, all - fast, parse);
		}
		printf("%lld\n", cpu() - from);
		fflush(stdout);
	}
	return 0;
}
