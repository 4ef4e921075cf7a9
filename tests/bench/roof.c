/* roof.c: the two rates that bound a linear layer, measured on this machine with `threads` threads. Build with -march=native. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MAX_THREADS = 64 };

typedef struct {
  const uint8_t *start;
  uint64_t size_bytes;
  uint64_t count;
  pthread_barrier_t *barrier;
  double took_s;
  uint64_t sink;
} Share;

static double now_s(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *read_share(void *argument) {
  Share *share = argument;
  pthread_barrier_wait(share->barrier);
  const double start_s = now_s();
#if defined(__AVX512F__)
  __m512i sum[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
  for (uint64_t at = 0; at < share->size_bytes; at += 256)
    for (int i = 0; i < 4; i++) sum[i] = _mm512_xor_si512(sum[i], _mm512_load_si512(share->start + at + 64 * i));
  share->sink = (uint64_t)_mm512_reduce_add_epi64(_mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]), _mm512_xor_si512(sum[2], sum[3])));
#else
  uint64_t sum = 0;
  for (uint64_t at = 0; at < share->size_bytes; at += 8) sum ^= *(const uint64_t *)(share->start + at);
  share->sink = sum;
#endif
  share->took_s = now_s() - start_s;
  return NULL;
}

static void *dot_share(void *argument) {
  Share *share = argument;
  pthread_barrier_wait(share->barrier);
  const double start_s = now_s();
#if defined(__AVX512VNNI__)
  __m512i sum[12], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (int i = 0; i < 12; i++) sum[i] = _mm512_setzero_si512();
  for (uint64_t n = 0; n < share->count; n++) {
    for (int i = 0; i < 12; i++) sum[i] = _mm512_dpbusd_epi32(sum[i], a, b);
    __asm__ volatile("" : "+v"(a), "+v"(b));
  }
  for (int i = 1; i < 12; i++) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
  share->sink = (uint64_t)_mm512_reduce_add_epi32(sum[0]);
#endif
  share->took_s = now_s() - start_s;
  return NULL;
}

static double slowest(void *(*function)(void *), Share *shares, uint32_t threads) {
  pthread_t ids[MAX_THREADS];
  double slowest_s = 0;
  for (uint32_t i = 0; i < threads; i++) pthread_create(&ids[i], NULL, function, &shares[i]);
  for (uint32_t i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    slowest_s = shares[i].took_s > slowest_s ? shares[i].took_s : slowest_s;
  }
  return slowest_s;
}

/* The fastest round's seconds for reading size_bytes (threads * 256 divides it) of 64-byte aligned memory. */
double read_best_s(const void *memory, uint64_t size_bytes, uint32_t threads, uint32_t rounds) {
  pthread_barrier_t barrier;
  Share shares[MAX_THREADS] = {0};
  double best_s = 1e9;
  pthread_barrier_init(&barrier, NULL, threads);
  for (uint32_t round = 0; round < rounds; round++) {
    for (uint32_t i = 0; i < threads; i++) {
      shares[i].start = (const uint8_t *)memory + size_bytes / threads * i;
      shares[i].size_bytes = size_bytes / threads;
      shares[i].barrier = &barrier;
    }
    const double took_s = slowest(read_share, shares, threads);
    best_s = took_s < best_s ? took_s : best_s;
  }
  pthread_barrier_destroy(&barrier);
  return best_s;
}

/* Int8 operations (a multiply-add is two) a second by vpdpbusd on 512 bits; 0 where the machine has none. */
double int8_best_rate(uint32_t threads, uint32_t rounds) {
#if defined(__AVX512VNNI__)
  const uint64_t count = 400000;
  pthread_barrier_t barrier;
  Share shares[MAX_THREADS] = {0};
  double best = 0;
  pthread_barrier_init(&barrier, NULL, threads);
  for (uint32_t round = 0; round < rounds; round++) {
    for (uint32_t i = 0; i < threads; i++) {
      shares[i].count = count;
      shares[i].barrier = &barrier;
    }
    const double rate = (double)count * 12 * 128 * threads / slowest(dot_share, shares, threads);
    best = rate > best ? rate : best;
  }
  pthread_barrier_destroy(&barrier);
  return best;
#else
  (void)threads, (void)rounds;
  return 0;
#endif
}
