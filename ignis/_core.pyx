# cython: language_level=3, embedsignature=True, binding=True, freethreading_compatible=False
"""KV page accounting, the prefix index, permitted-token masks, the sampling table, and the only caller of the step ABI.

Every cdef class owns one resource: its memory is taken in __cinit__ and given back in __dealloc__. Nothing here decides
anything: which request goes next, what is evicted for whom, and when, is the scheduler's business. Objects are not
locked; the engine's thread owns them.

One file for six nouns: they read each other's C fields in every step, which between extension modules takes each
declaration a second time in a .pxd, and five times Cython's own start and size.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.float cimport FLT_MIN
from libc.math cimport exp, log
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset
from posix.dlfcn cimport RTLD_LOCAL, RTLD_NOW, dlclose, dlerror, dlopen, dlsym

from hashlib import blake2b

from xxhash import xxh3_128_digest


# The header's own prototypes give the pointer types, so a changed signature fails to compile here.
cdef extern from *:
    """
    #include "ignis_step.h"
    typedef __typeof__(ignis_abi_version) *abi_version_fn;
    typedef __typeof__(ignis_last_error) *last_error_fn;
    typedef __typeof__(ignis_probe) *probe_fn;
    typedef __typeof__(ignis_plan) *plan_fn;
    typedef __typeof__(ignis_load) *load_fn;
    typedef __typeof__(ignis_unload) *unload_fn;
    typedef __typeof__(ignis_lane_open) *lane_open_fn;
    typedef __typeof__(ignis_copy_page) *copy_page_fn;
    typedef __typeof__(ignis_pages_out) *pages_fn;
    typedef __typeof__(ignis_prefill) *prefill_fn;
    typedef __typeof__(ignis_decode_begin) *decode_begin_fn;
    typedef __typeof__(ignis_decode_ahead) *decode_ahead_fn;
    typedef __typeof__(ignis_decode_end) *decode_end_fn;
    typedef __typeof__(ignis_last_step) *last_step_fn;
    typedef __typeof__(ignis_measure) *measure_fn;
    typedef __typeof__(ignis_dequantize) *dequantize_fn;
    """
    enum:
        IGNIS_ABI_VERSION
        IGNIS_PAGE_TOKENS
        IGNIS_MAX_LANES
        IGNIS_MAX_TOP_LOGPROBS
        IGNIS_OK
        IGNIS_INVALID
        IGNIS_UNSUPPORTED
        IGNIS_NO_MEMORY
        IGNIS_NO_DEVICE
        IGNIS_FAULT
        IGNIS_CANCELLED
        IGNIS_LOAD_PREPARING
        IGNIS_LOAD_READING
        IGNIS_LOAD_RECORDING
        IGNIS_LOAD_WARMING
        IGNIS_ARCH_LLAMA
        IGNIS_ARCH_QWEN3

    ctypedef int ignis_status

    ctypedef struct ignis_device_info:
        uint32_t size
        uint32_t num_cores
        uint64_t memory_bytes
        uint64_t free_bytes
        uint64_t context_bytes
        char name[96]
        char isa[32]
        uint32_t phases_agree
        uint32_t has_own_memory
        uint32_t gains_ahead

    ctypedef struct ignis_file:
        const void *base
        uint64_t size_bytes
        int32_t descriptor

    ctypedef struct ignis_tensor:
        const char *name
        uint32_t dtype
        uint32_t file
        uint64_t offset
        uint64_t size_bytes
        uint64_t rows
        uint64_t cols
        uint32_t scale_dtype
        uint32_t scale_file
        uint64_t scale_offset
        uint64_t scale_size_bytes

    ctypedef struct ignis_shape:
        uint32_t size
        uint32_t architecture
        uint32_t num_layers
        uint32_t hidden_size
        uint32_t ffn_size
        uint32_t num_heads
        uint32_t num_kv_heads
        uint32_t head_dim
        uint32_t vocab_size
        float rms_eps
        uint32_t rope_pairs
        float rope_scale
        const float *rope_inv_freq

    ctypedef struct ignis_load_progress:
        uint32_t size
        uint32_t phase
        uint64_t done_bytes
        uint64_t total_bytes
        uint32_t is_cancelled

    ctypedef struct ignis_load_params:
        uint32_t size
        uint32_t num_files
        const ignis_shape *shape
        const ignis_file *files
        const ignis_tensor *tensors
        uint32_t num_tensors
        uint32_t num_pages
        uint32_t kv_dtype
        uint32_t max_context
        uint32_t max_span
        uint32_t max_lanes
        uint32_t num_threads
        uint32_t seed
        uint32_t num_host_pages
        ignis_load_progress *progress

    ctypedef struct ignis_step_times:
        uint32_t size
        double launch_s
        double wait_s
        double device_s

    ctypedef struct ignis_ceilings:
        uint32_t size
        double read_bytes_s
        double copy_bytes_s
        double matrix_flops_s

    ctypedef struct ignis_memory_plan:
        uint32_t size
        uint64_t weights_bytes
        uint64_t embedding_bytes
        uint64_t mapped_bytes
        uint64_t workspace_bytes
        uint64_t sampling_bytes
        uint64_t lane_bytes
        uint64_t round_bytes
        uint64_t kv_page_bytes
        uint64_t kv_pool_bytes
        uint64_t kv_host_bytes

    ctypedef struct ignis_sampling:
        float temperature
        float top_p
        float min_p
        float repetition_penalty
        float presence_penalty
        float frequency_penalty
        int32_t top_k
        int32_t top_logprobs
        uint64_t seed
        const int32_t *bias_ids
        const float *bias_values
        uint32_t num_bias
        const uint32_t *permitted

    ctypedef struct ignis_draw:
        int32_t token
        int32_t num_top
        float logprob
        int32_t top_ids[IGNIS_MAX_TOP_LOGPROBS]
        float top_logprobs[IGNIS_MAX_TOP_LOGPROBS]

    ctypedef struct ignis_span:
        uint32_t size
        uint32_t start
        uint32_t stop
        uint32_t num_pages
        const int32_t *tokens
        const int32_t *page_table
        int32_t lane
        const ignis_sampling *sampling
        float *logits

    ctypedef struct ignis_row:
        int32_t lane
        int32_t token
        uint32_t position
        uint32_t num_pages
        const int32_t *page_table

    ctypedef struct ignis_round:
        uint32_t size
        uint32_t num_rows
        const ignis_row *rows
        const ignis_sampling *sampling
        float *logits

    ctypedef struct ignis_model

    ctypedef uint32_t (*abi_version_fn)() noexcept nogil
    ctypedef const char *(*last_error_fn)() noexcept nogil
    ctypedef ignis_status (*probe_fn)(ignis_device_info *) noexcept nogil
    ctypedef ignis_status (*plan_fn)(const ignis_load_params *, ignis_memory_plan *) noexcept nogil
    ctypedef ignis_status (*load_fn)(const ignis_load_params *, ignis_model **) noexcept nogil
    ctypedef void (*unload_fn)(ignis_model *) noexcept nogil
    ctypedef ignis_status (*lane_open_fn)(ignis_model *, int32_t, const int32_t *, uint32_t, const int32_t *,
                                          uint32_t) noexcept nogil
    ctypedef ignis_status (*copy_page_fn)(ignis_model *, int32_t, int32_t) noexcept nogil
    ctypedef ignis_status (*pages_fn)(ignis_model *, const int32_t *, const int32_t *, uint32_t) noexcept nogil
    ctypedef ignis_status (*prefill_fn)(ignis_model *, const ignis_span *, ignis_draw *) noexcept nogil
    ctypedef ignis_status (*decode_begin_fn)(ignis_model *, const ignis_round *) noexcept nogil
    ctypedef ignis_status (*decode_ahead_fn)(ignis_model *) noexcept nogil
    ctypedef ignis_status (*decode_end_fn)(ignis_model *, ignis_draw *) noexcept nogil
    ctypedef ignis_status (*last_step_fn)(const ignis_model *, ignis_step_times *) noexcept nogil
    ctypedef ignis_status (*measure_fn)(uint32_t, ignis_ceilings *) noexcept nogil
    ctypedef ignis_status (*dequantize_fn)(uint32_t, const void *, uint64_t, float *, uint64_t) noexcept nogil


PAGE_TOKENS = IGNIS_PAGE_TOKENS
MAX_LANES = IGNIS_MAX_LANES
MAX_TOP_LOGPROBS = IGNIS_MAX_TOP_LOGPROBS
ABI_VERSION = IGNIS_ABI_VERSION

STATUS_INVALID = IGNIS_INVALID
STATUS_UNSUPPORTED = IGNIS_UNSUPPORTED
STATUS_NO_MEMORY = IGNIS_NO_MEMORY
STATUS_NO_DEVICE = IGNIS_NO_DEVICE
STATUS_FAULT = IGNIS_FAULT
STATUS_CANCELLED = IGNIS_CANCELLED

LOAD_PREPARING = IGNIS_LOAD_PREPARING
LOAD_READING = IGNIS_LOAD_READING
LOAD_RECORDING = IGNIS_LOAD_RECORDING
LOAD_WARMING = IGNIS_LOAD_WARMING

cdef void *c_zeroed(size_t count, size_t size_bytes) except NULL:
    """Never asks for zero bytes, whose answer may be NULL."""
    cdef void *c_memory = calloc(count if count else 1, size_bytes)
    if c_memory is NULL:
        raise MemoryError(f"{count} x {size_bytes} bytes")
    return c_memory


cdef class TokenLog:
    """The token ids of one sequence, prompt then output: int32 [capacity], owned."""

    cdef int32_t *c_tokens
    cdef readonly int capacity
    cdef readonly int num_prompt
    cdef int c_count

    def __cinit__(self, prompt, int capacity):
        cdef int i
        cdef int c_num_prompt = len(prompt)
        if capacity < c_num_prompt:
            raise ValueError(f"a prompt of {c_num_prompt} tokens does not fit a capacity of {capacity}")
        self.c_tokens = <int32_t *>c_zeroed(capacity, sizeof(int32_t))
        self.capacity = capacity
        for i in range(c_num_prompt):
            self.c_tokens[i] = prompt[i]
        self.num_prompt = self.c_count = c_num_prompt

    def __dealloc__(self):
        free(self.c_tokens)

    def __len__(self):
        return self.c_count

    def __getitem__(self, int index):
        if not 0 <= index < self.c_count:
            raise IndexError(index)
        return self.c_tokens[index]

    def append(self, int32_t token):
        """Adds one drawn token."""
        if self.c_count == self.capacity:
            raise IndexError(f"the log is full: {self.capacity} tokens")
        self.c_tokens[self.c_count] = token
        self.c_count += 1

    def slice(self, int start, int stop):
        """Returns the tokens of [start, stop) as a tuple."""
        if not 0 <= start <= stop <= self.c_count:
            raise IndexError((start, stop))
        return tuple([self.c_tokens[i] for i in range(start, stop)])


cdef class PageTable:
    """The pages of one sequence in order: int32 [capacity], of which len() are filled. Holds no references itself."""

    cdef int32_t *c_pages
    cdef readonly int capacity
    cdef int c_count

    def __cinit__(self, int capacity):
        if capacity < 0:
            raise ValueError(capacity)
        self.c_pages = <int32_t *>c_zeroed(capacity, sizeof(int32_t))
        self.capacity = capacity

    def __dealloc__(self):
        free(self.c_pages)

    def __len__(self):
        return self.c_count

    def __getitem__(self, int index):
        if not 0 <= index < self.c_count:
            raise IndexError(index)
        return self.c_pages[index]

    def append(self, int32_t page):
        if self.c_count == self.capacity:
            raise IndexError(f"the table is full: {self.capacity} pages")
        self.c_pages[self.c_count] = page
        self.c_count += 1

    def replace(self, int index, int32_t page):
        """Puts another page of equal content in a place."""
        if not 0 <= index < self.c_count:
            raise IndexError(index)
        self.c_pages[index] = page

    def pop(self):
        """Removes the last page and returns it."""
        if self.c_count == 0:
            raise IndexError("the table is empty")
        self.c_count -= 1
        return self.c_pages[self.c_count]


cdef class PagePool:
    """Counts the references to each page. A page without any lies in the free list.

    The free list is last in, first out, so that the pages in use are those that the device has touched already: memory
    that no request has needed yet stays unbacked.
    """

    cdef int32_t *c_references
    cdef int32_t *c_free
    cdef readonly int num_pages
    cdef readonly int num_free

    def __cinit__(self, int num_pages):
        cdef int i
        if num_pages < 1:
            raise ValueError(num_pages)
        self.c_references = <int32_t *>c_zeroed(num_pages, sizeof(int32_t))
        self.c_free = <int32_t *>c_zeroed(num_pages, sizeof(int32_t))
        self.num_pages = self.num_free = num_pages
        for i in range(num_pages):
            self.c_free[i] = num_pages - 1 - i

    def __dealloc__(self):
        free(self.c_references)
        free(self.c_free)

    cdef int c_index(self, int page) except -1:
        if not 0 <= page < self.num_pages:
            raise IndexError(page)
        return page

    cdef int32_t c_take(self) except -1:
        cdef int32_t c_page
        if self.num_free == 0:
            raise IndexError("no free page")
        self.num_free -= 1
        c_page = self.c_free[self.num_free]
        self.c_references[c_page] = 1
        return c_page

    cdef int32_t c_retain(self, int page) except -1:
        """Returns the references after it."""
        if self.c_references[self.c_index(page)] == 0:
            raise ValueError(f"page {page} is free")
        self.c_references[page] += 1
        return self.c_references[page]

    cdef int32_t c_release(self, int page) except -1:
        """Returns the references after it; at none the page is free."""
        if self.c_references[self.c_index(page)] == 0:
            raise ValueError(f"page {page} is free")
        self.c_references[page] -= 1
        if self.c_references[page] == 0:
            self.c_free[self.num_free] = page
            self.num_free += 1
        return self.c_references[page]

    def take(self):
        """Takes a free page with one reference.

        Raises:
            IndexError: there is none.
        """
        return self.c_take()

    def retain(self, int page):
        """Adds a reference to a page in use; returns how many it has now."""
        return self.c_retain(page)

    def release(self, int page):
        """Drops a reference; returns how many are left. At none the page is free."""
        return self.c_release(page)

    def references(self, int page):
        return self.c_references[self.c_index(page)]

    def check(self):
        """Asserts that every page is either free once and without references, or referenced and not free."""
        cdef int i
        seen = set()
        for i in range(self.num_free):
            assert self.c_references[self.c_free[i]] == 0, f"page {self.c_free[i]} is free and referenced"
            seen.add(self.c_free[i])
        assert len(seen) == self.num_free, "a page is free twice"
        for i in range(self.num_pages):
            assert self.c_references[i] >= 0, f"page {i} has {self.c_references[i]} references"
            assert self.c_references[i] > 0 or i in seen, f"page {i} is lost"


ROOT_NAME = b"\0" * 32


cdef bytes c_name(bytes parent, const int32_t *tokens):
    """The name of a full page with these tokens behind a page of that name."""
    return blake2b(parent + PyBytes_FromStringAndSize(<const char *>tokens, IGNIS_PAGE_TOKENS * sizeof(int32_t)),
                   digest_size=32).digest()


def name_after(bytes parent not None, TokenLog tokens not None, int index):
    """Returns the name of the full page at an index of a log's pages, whose predecessor has the name `parent`, or is none
    (ROOT_NAME)."""
    if index < 0 or (index + 1) * IGNIS_PAGE_TOKENS > tokens.c_count:
        raise IndexError(index)
    return c_name(parent, tokens.c_tokens + <size_t>index * IGNIS_PAGE_TOKENS)


cdef class PrefixIndex:
    """Finds pages by content: a tree whose nodes are pages. A node is its page, so all about it is in arrays by page.

    A full page has a name, xxh3-128 of (parent's digest, 64 tokens), by which a prompt's head is found page by page. A
    tail, the last page of a sequence that ended before it was full, has none: it is found among its parent's children,
    as every page is of which a prompt shares the head only. No tail is the head of a sibling, unless it was in use when
    that one came.

    The index holds one reference to each of its pages; a page that nobody else holds is idle, in a list by the time of
    its last release. Two rules keep that list simple:

    - who holds a page holds its ancestors too (a claim starts at the root; a page enters below the one before it), and
    - a sequence gives its pages back last page first.

    So a parent is never idle before its children are, and the oldest idle page is always a leaf of the tree.
    A digest only finds a candidate: parent and tokens are compared, so a collision costs a miss and never leaks.
    """

    cdef readonly PagePool pool
    cdef object c_digest
    cdef dict c_page_of
    cdef list c_digest_of
    cdef list c_name_of
    cdef int32_t *c_tokens
    cdef int32_t *c_filled
    cdef int32_t *c_parent
    cdef int32_t *c_child
    cdef int32_t *c_next
    cdef int32_t *c_previous
    cdef int32_t *c_older
    cdef int32_t *c_newer
    cdef uint8_t *c_indexed
    cdef uint8_t *c_idle
    cdef int32_t c_root_child
    cdef int32_t c_oldest
    cdef int32_t c_newest
    cdef readonly int num_pages
    cdef readonly int num_idle

    def __cinit__(self, PagePool pool not None, digest=xxh3_128_digest):
        self.pool = pool
        self.c_digest = digest
        self.c_page_of = {}
        self.c_digest_of = [None] * pool.num_pages
        self.c_name_of = [None] * pool.num_pages
        self.c_tokens = <int32_t *>c_zeroed(<size_t>pool.num_pages * IGNIS_PAGE_TOKENS, sizeof(int32_t))
        self.c_filled = <int32_t *>c_zeroed(pool.num_pages, sizeof(int32_t))
        self.c_parent = <int32_t *>c_zeroed(pool.num_pages, sizeof(int32_t))
        self.c_child = <int32_t *>c_zeroed(pool.num_pages, sizeof(int32_t))
        self.c_next = <int32_t *>c_zeroed(pool.num_pages, sizeof(int32_t))
        self.c_previous = <int32_t *>c_zeroed(pool.num_pages, sizeof(int32_t))
        self.c_older = <int32_t *>c_zeroed(pool.num_pages, sizeof(int32_t))
        self.c_newer = <int32_t *>c_zeroed(pool.num_pages, sizeof(int32_t))
        self.c_indexed = <uint8_t *>c_zeroed(pool.num_pages, sizeof(uint8_t))
        self.c_idle = <uint8_t *>c_zeroed(pool.num_pages, sizeof(uint8_t))
        self.c_root_child = self.c_oldest = self.c_newest = -1

    def __dealloc__(self):
        free(self.c_tokens)
        free(self.c_filled)
        free(self.c_parent)
        free(self.c_child)
        free(self.c_next)
        free(self.c_previous)
        free(self.c_older)
        free(self.c_newer)
        free(self.c_indexed)
        free(self.c_idle)

    cdef int c_unlink(self, int page) except -1:
        cdef int32_t c_older = self.c_older[page]
        cdef int32_t c_newer = self.c_newer[page]
        if c_older < 0:
            self.c_oldest = c_newer
        else:
            self.c_newer[c_older] = c_newer
        if c_newer < 0:
            self.c_newest = c_older
        else:
            self.c_older[c_newer] = c_older
        self.c_idle[page] = 0
        self.num_idle -= 1
        return 0

    cdef int c_link_newest(self, int page) except -1:
        self.c_older[page] = self.c_newest
        self.c_newer[page] = -1
        if self.c_newest < 0:
            self.c_oldest = page
        else:
            self.c_newer[self.c_newest] = page
        self.c_newest = page
        self.c_idle[page] = 1
        self.num_idle += 1
        return 0

    cdef int32_t *c_first_child(self, int parent) noexcept:
        """Where the first child of a page (-1: the root) is written; -1 there is none."""
        return &self.c_child[parent] if parent >= 0 else &self.c_root_child

    cdef int c_add(self, int page, int parent, const int32_t *tokens, int count) except -1:
        """Makes a page a node of the tree, with the tokens of its first positions."""
        cdef int32_t *c_first = self.c_first_child(parent)
        self.pool.c_retain(page)
        memcpy(self.c_tokens + <size_t>page * IGNIS_PAGE_TOKENS, tokens, count * sizeof(int32_t))
        self.c_filled[page] = count
        self.c_parent[page] = parent
        self.c_child[page] = -1
        self.c_previous[page] = -1
        self.c_next[page] = c_first[0]
        if c_first[0] >= 0:
            self.c_previous[c_first[0]] = page
        c_first[0] = page
        self.c_indexed[page] = 1
        self.num_pages += 1
        return 0

    cdef int c_forget(self, int page) except -1:
        """Takes an idle page without children out of the tree, which frees it."""
        assert self.c_child[page] < 0, "a page with children is forgotten"
        self.c_unlink(page)
        if self.c_digest_of[page] is not None:
            del self.c_page_of[self.c_digest_of[page]]
            self.c_digest_of[page] = None
        self.c_name_of[page] = None
        if self.c_previous[page] < 0:
            self.c_first_child(self.c_parent[page])[0] = self.c_next[page]
        else:
            self.c_next[self.c_previous[page]] = self.c_next[page]
        if self.c_next[page] >= 0:
            self.c_previous[self.c_next[page]] = self.c_previous[page]
        self.c_indexed[page] = 0
        self.num_pages -= 1
        self.pool.c_release(page)
        return 0

    cdef int c_common(self, int page, const int32_t *tokens, int most) noexcept:
        """How many of the first `most` tokens a page begins with."""
        cdef const int32_t *c_own = self.c_tokens + <size_t>page * IGNIS_PAGE_TOKENS
        cdef int c_most = min(most, self.c_filled[page])
        cdef int i = 0
        while i < c_most and c_own[i] == tokens[i]:
            i += 1
        return i

    cdef int c_forget_heads(self, int parent, const int32_t *tokens, int count) except -1:
        """Forgets the idle tails below a parent whose tokens a page that comes there has, too."""
        cdef int32_t c_page = self.c_first_child(parent)[0]
        cdef int32_t c_next
        while c_page >= 0:
            c_next = self.c_next[c_page]
            if self.c_idle[c_page] and self.c_filled[c_page] < count and (
                    self.c_common(c_page, tokens, count) == self.c_filled[c_page]):
                self.c_forget(c_page)
            c_page = c_next
        return 0

    cdef bytes c_key(self, int parent, const int32_t *tokens):
        """The digest of a full page with these tokens below this parent (-1: the root)."""
        cdef bytes c_parent_digest = self.c_digest_of[parent] if parent >= 0 else b"\0" * 16
        cdef bytes c_text = PyBytes_FromStringAndSize(NULL, 16 + IGNIS_PAGE_TOKENS * sizeof(int32_t))
        cdef char *c_bytes = PyBytes_AS_STRING(c_text)
        memcpy(c_bytes, PyBytes_AS_STRING(c_parent_digest), 16)
        memcpy(c_bytes + 16, tokens, IGNIS_PAGE_TOKENS * sizeof(int32_t))
        return self.c_digest(c_text)

    cdef bint c_is(self, int page, int parent, const int32_t *tokens) noexcept:
        return self.c_parent[page] == parent and memcmp(
            self.c_tokens + <size_t>page * IGNIS_PAGE_TOKENS, tokens, IGNIS_PAGE_TOKENS * sizeof(int32_t)) == 0

    def match(self, TokenLog tokens not None, int max_pages):
        """Returns the pages of the longest indexed prefix of full pages, at most max_pages of them. Changes nothing."""
        cdef int32_t *c_tokens = tokens.c_tokens
        cdef int c_limit = min(max_pages, tokens.c_count // IGNIS_PAGE_TOKENS)
        cdef int c_parent = -1
        cdef int i
        pages = []
        for i in range(c_limit):
            page = self.c_page_of.get(self.c_key(c_parent, c_tokens + i * IGNIS_PAGE_TOKENS))
            if page is None or not self.c_is(page, c_parent, c_tokens + i * IGNIS_PAGE_TOKENS):
                break
            pages.append(page)
            c_parent = page
        return pages

    def nearest(self, TokenLog tokens not None, pages not None, int most):
        """Returns (page, count): the child of the last of these pages, or of the root, that begins with the most of the
        at most `most` tokens which follow them; None where no child begins with any. Changes nothing.

        pages: what `match` gave for these tokens.
        """
        cdef int c_start = len(pages) * IGNIS_PAGE_TOKENS
        cdef int c_most = min(most, tokens.c_count - c_start, IGNIS_PAGE_TOKENS)
        cdef int c_best = -1
        cdef int c_best_count = 0
        cdef int c_count
        cdef int32_t c_page = self.c_first_child(pages[-1] if pages else -1)[0]
        # Whole pools of children are looked through in microseconds, once an admission. The newest come first.
        while c_page >= 0 and c_best_count < c_most:
            c_count = self.c_common(c_page, tokens.c_tokens + c_start, c_most)
            if c_count > c_best_count:
                c_best, c_best_count = c_page, c_count
            c_page = self.c_next[c_page]
        return (c_best, c_best_count) if c_best_count else None

    def enter(self, TokenLog tokens not None, PageTable table not None, int index):
        """Enters the full page at an index of a table whose earlier pages are all entered; returns whether the index
        has its content now.

        Where equal content is there already, the table takes that page and gives its own back: both hold the same bits,
        and one copy is enough. False is a digest collision: this page and those after it stay out.
        """
        cdef int32_t *c_tokens
        cdef int32_t c_page
        cdef int32_t c_parent
        if (index + 1) * IGNIS_PAGE_TOKENS > tokens.c_count:
            raise IndexError(index)
        c_page = self.c_own_page(table, index)
        c_parent = table.c_pages[index - 1] if index else -1
        c_tokens = tokens.c_tokens + index * IGNIS_PAGE_TOKENS
        key = self.c_key(c_parent, c_tokens)
        twin = self.c_page_of.get(key)
        if twin is not None:
            if not self.c_is(twin, c_parent, c_tokens):
                return False
            self.retain(twin)
            table.c_pages[index] = twin
            self.release(c_page)
            return True
        self.c_forget_heads(c_parent, c_tokens, IGNIS_PAGE_TOKENS)
        self.c_add(c_page, c_parent, c_tokens, IGNIS_PAGE_TOKENS)
        self.c_page_of[key] = c_page
        self.c_digest_of[c_page] = key
        return True

    def enter_tail(self, TokenLog tokens not None, PageTable table not None, int index, int count):
        """Enters the page at an index of a table whose earlier pages are all entered, with its first `count` positions,
        fewer than a page has. It is never written again. False: a page that begins with these is there already.
        """
        cdef int32_t *c_tokens
        cdef int32_t c_page
        cdef int32_t c_parent
        cdef int32_t c_child
        if not 0 < count < IGNIS_PAGE_TOKENS or index * IGNIS_PAGE_TOKENS + count > tokens.c_count:
            raise IndexError(count)
        c_page = self.c_own_page(table, index)
        c_parent = table.c_pages[index - 1] if index else -1
        c_tokens = tokens.c_tokens + index * IGNIS_PAGE_TOKENS
        c_child = self.c_first_child(c_parent)[0]
        while c_child >= 0:
            if self.c_common(c_child, c_tokens, count) == count:
                return False
            c_child = self.c_next[c_child]
        self.c_forget_heads(c_parent, c_tokens, count)
        self.c_add(c_page, c_parent, c_tokens, count)
        return True

    cdef int32_t c_own_page(self, PageTable table, int index) except -1:
        """Returns the page at an index of a table, which is not entered while the one before it is, in full."""
        cdef int32_t c_page
        cdef int32_t c_parent
        if not 0 <= index < table.c_count:
            raise IndexError(index)
        c_page = table.c_pages[index]
        c_parent = table.c_pages[index - 1] if index else -1
        if self.c_indexed[self.pool.c_index(c_page)] or (c_parent >= 0 and (
                not self.c_indexed[c_parent] or self.c_filled[c_parent] < IGNIS_PAGE_TOKENS)):
            raise ValueError(f"page {c_page} cannot be entered below {c_parent}")
        return c_page

    def retain(self, int page):
        """Adds a sequence's reference to a page."""
        self.pool.c_retain(page)
        if self.c_idle[page]:
            self.c_unlink(page)

    def release(self, int page):
        """Drops a sequence's reference. An indexed page that nobody else holds becomes the newest idle one."""
        if self.pool.c_release(page) == 1 and self.c_indexed[page]:
            self.c_link_newest(page)

    def release_all(self, PageTable table not None):
        """Drops the references of a whole table, last page first, and empties it."""
        while table.c_count:
            table.c_count -= 1
            self.release(table.c_pages[table.c_count])

    def evict(self):
        """Forgets the idle page that was released first, which frees it; returns it.

        Raises:
            IndexError: no page is idle.
        """
        cdef int32_t c_page = self.c_oldest
        if c_page < 0:
            raise IndexError("no idle page")
        self.c_forget(c_page)
        return c_page

    @property
    def oldest(self):
        """The page that `evict` would give up; None where no page is idle."""
        return self.c_oldest if self.c_oldest >= 0 else None

    def name(self, int page):
        """Returns the name of an indexed page, which says what all positions up to its end hold, wherever they lie; None
        of a tail.

        Names are of BLAKE2b, 256 bits: nobody finds two contents of one name, so a name alone is enough where the pages
        before are not at hand to compare.
        """
        cdef int c_page = page
        if not self.c_indexed[self.pool.c_index(page)] or self.c_filled[page] < IGNIS_PAGE_TOKENS:
            return None
        unnamed = []
        while c_page >= 0 and self.c_name_of[c_page] is None:
            unnamed.append(c_page)
            c_page = self.c_parent[c_page]
        found = self.c_name_of[c_page] if c_page >= 0 else ROOT_NAME
        for c_page in reversed(unnamed):
            found = c_name(found, self.c_tokens + <size_t>c_page * IGNIS_PAGE_TOKENS)
            self.c_name_of[c_page] = found
        return found

    def is_idle(self, int page):
        return self.c_idle[self.pool.c_index(page)] == 1

    def is_indexed(self, int page):
        return self.c_indexed[self.pool.c_index(page)] == 1

    def check(self):
        """Asserts that names, tree, idle list and reference counts agree."""
        cdef int i
        cdef int32_t c_child
        num_indexed = num_named = num_children = num_idle = 0
        for i in range(self.pool.num_pages):
            if not self.c_indexed[i]:
                assert self.c_digest_of[i] is None and not self.c_idle[i], f"page {i} is half indexed"
                continue
            num_indexed += 1
            if self.c_filled[i] == IGNIS_PAGE_TOKENS:
                num_named += 1
                assert self.c_page_of[self.c_digest_of[i]] == i, f"page {i} is not found by its digest"
            else:
                assert 0 < self.c_filled[i] < IGNIS_PAGE_TOKENS, f"page {i} has {self.c_filled[i]} positions"
                assert self.c_digest_of[i] is None and self.c_child[i] < 0, f"tail {i} has a name or children"
            assert self.pool.c_references[i] >= 1, f"page {i} is indexed and not held"
            assert (self.pool.c_references[i] == 1) == (self.c_idle[i] == 1), f"page {i} is wrongly idle or live"
            num_idle += self.c_idle[i]
            if self.c_parent[i] >= 0:
                assert self.c_indexed[self.c_parent[i]], f"page {i} has lost its parent"
                assert self.c_idle[i] or not self.c_idle[self.c_parent[i]], f"page {i} is held without its parent"
        assert num_indexed == self.num_pages and num_named == len(self.c_page_of) and num_idle == self.num_idle, "counts"
        for i in range(-1, self.pool.num_pages):
            if i >= 0 and not self.c_indexed[i]:
                continue
            previous = -1
            c_child = self.c_first_child(i)[0]
            while c_child >= 0:
                assert self.c_indexed[c_child] and self.c_parent[c_child] == i, f"page {c_child} is no child of {i}"
                assert self.c_previous[c_child] == previous, f"page {c_child} has lost the sibling before it"
                num_children += 1
                previous, c_child = c_child, self.c_next[c_child]
        assert num_children == num_indexed, "a page is nobody's child"
        walked = 0
        page = self.c_oldest
        while page >= 0:
            walked += 1
            assert self.c_child[page] < 0 or self.c_older[page] >= 0, "a parent is the oldest idle page"
            page = self.c_newer[page]
        assert walked == self.num_idle, "the idle list is broken"


cdef class Bias:
    """The logit biases of one lane: ids int32 [count] and values float32 [count]."""

    cdef int32_t *c_ids
    cdef float *c_values
    cdef readonly int count

    def __cinit__(self, pairs):
        cdef int i
        self.count = len(pairs)
        self.c_ids = <int32_t *>c_zeroed(self.count, sizeof(int32_t))
        self.c_values = <float *>c_zeroed(self.count, sizeof(float))
        for i in range(self.count):
            self.c_ids[i] = pairs[i][0]
            self.c_values[i] = pairs[i][1]

    def __dealloc__(self):
        free(self.c_ids)
        free(self.c_values)


cdef float c_positive(double value) noexcept:
    """The nearest float that is as far from 0 as the leaf asks: a tiny double is not to become 0."""
    return FLT_MIN if 0 < value < FLT_MIN else <float>value


cdef class Mask:
    """The tokens that a draw may give: bit (id & 31) of word id >> 5, as ignis_sampling.permitted. It starts with none."""

    cdef uint32_t *c_words
    cdef readonly int vocab_size

    def __cinit__(self, int vocab_size):
        if vocab_size < 1:
            raise ValueError(vocab_size)
        self.c_words = <uint32_t *>c_zeroed((vocab_size + 31) // 32, sizeof(uint32_t))
        self.vocab_size = vocab_size

    def __dealloc__(self):
        free(self.c_words)

    @property
    def address(self):
        """Where the words lie, for whoever fills them; good as long as the mask is held."""
        return <size_t>self.c_words

    @property
    def size_bytes(self):
        return (self.vocab_size + 31) // 32 * sizeof(uint32_t)

    @property
    def count(self):
        """How many tokens are permitted. Bits past the vocabulary are none."""
        cdef int i
        cdef int c_count = 0
        for i in range(self.vocab_size):
            c_count += self.c_words[i >> 5] >> (i & 31) & 1
        return c_count

    @property
    def is_empty(self):
        cdef int i
        cdef int c_rest = self.vocab_size & 31
        for i in range(self.vocab_size >> 5):
            if self.c_words[i]:
                return False
        return c_rest == 0 or self.c_words[self.vocab_size >> 5] & ((<uint32_t>1 << c_rest) - 1) == 0

    def __contains__(self, int token):
        return 0 <= token < self.vocab_size and self.c_words[token >> 5] >> (token & 31) & 1 == 1

    def permit(self, int token):
        self.c_words[self.c_index(token) >> 5] |= <uint32_t>1 << (token & 31)

    def forbid(self, int token):
        self.c_words[self.c_index(token) >> 5] &= ~(<uint32_t>1 << (token & 31))

    def copy(self):
        """Returns another one with the same tokens."""
        cdef Mask c_copy = Mask(self.vocab_size)
        memcpy(c_copy.c_words, self.c_words, self.size_bytes)
        return c_copy

    def with_token(self, int token):
        """Returns another one that permits this token too."""
        copy = self.copy()
        copy.permit(token)
        return copy

    cdef int c_index(self, int token) except -1:
        if not 0 <= token < self.vocab_size:
            raise IndexError(token)
        return token


cdef class SamplingTable:
    """How each lane draws: ignis_sampling [num_lanes]. Rows are written when a lane is taken; between two steps a lane's
    mask may change."""

    cdef ignis_sampling *c_rows
    cdef list c_biases
    cdef list c_masks
    cdef readonly int num_lanes

    def __cinit__(self, int num_lanes):
        if not 1 <= num_lanes <= IGNIS_MAX_LANES:
            raise ValueError(num_lanes)
        self.c_rows = <ignis_sampling *>c_zeroed(num_lanes, sizeof(ignis_sampling))
        self.num_lanes = num_lanes
        self.c_biases = [None] * num_lanes
        self.c_masks = [None] * num_lanes

    def __dealloc__(self):
        free(self.c_rows)

    def write(self, int lane, params):
        """Writes a lane's row from SamplingParams; every token is permitted."""
        cdef ignis_sampling c_row
        cdef Bias c_bias
        if not 0 <= lane < self.num_lanes:
            raise IndexError(lane)
        # A value that does not fit its C type raises before the table is touched.
        c_bias = Bias(params.logit_bias)
        memset(&c_row, 0, sizeof(c_row))
        c_row.temperature = params.temperature
        c_row.top_p = c_positive(params.top_p)
        c_row.min_p = params.min_p
        c_row.repetition_penalty = c_positive(params.repetition_penalty)
        c_row.presence_penalty = params.presence_penalty
        c_row.frequency_penalty = params.frequency_penalty
        c_row.top_k = params.top_k
        c_row.top_logprobs = -1 if params.top_logprobs is None else params.top_logprobs
        c_row.seed = params.seed
        c_row.num_bias = c_bias.count
        if c_bias.count:
            c_row.bias_ids = c_bias.c_ids
            c_row.bias_values = c_bias.c_values
        self.c_rows[lane] = c_row
        self.c_biases[lane] = c_bias
        self.c_masks[lane] = None

    def permit(self, int lane, Mask mask):
        """Says which tokens the lane may draw from now on; None: any. The mask is held, and stays as it is in a step."""
        if not 0 <= lane < self.num_lanes:
            raise IndexError(lane)
        self.c_masks[lane] = mask
        self.c_rows[lane].permitted = NULL if mask is None else mask.c_words

    cdef int c_check(self, int lane, uint32_t vocab_size) except -1:
        """A mask of another vocabulary is read past its end."""
        cdef Mask c_mask = self.c_masks[lane]
        if c_mask is not None and <uint32_t>c_mask.vocab_size != vocab_size:
            raise ValueError(f"the mask of lane {lane} is of {c_mask.vocab_size} tokens, not {vocab_size}")
        return 0

    def row(self, int lane):
        """Returns a lane's row as a dict, for tests and the scripted leaf."""
        cdef ignis_sampling *c_row
        cdef uint32_t i
        if not 0 <= lane < self.num_lanes:
            raise IndexError(lane)
        c_row = &self.c_rows[lane]
        return {
            "temperature": c_row.temperature,
            "top_p": c_row.top_p,
            "min_p": c_row.min_p,
            "repetition_penalty": c_row.repetition_penalty,
            "presence_penalty": c_row.presence_penalty,
            "frequency_penalty": c_row.frequency_penalty,
            "top_k": c_row.top_k,
            "top_logprobs": c_row.top_logprobs,
            "seed": c_row.seed,
            "logit_bias": tuple([(c_row.bias_ids[i], c_row.bias_values[i]) for i in range(c_row.num_bias)]),
            "permitted": self.c_masks[lane],
        }


cdef class Row:
    """One lane's part of a round: the last token of the log goes in at its position, through these pages. It keeps what
    every round changes of a request, so that `take_draws` needs nothing else.

    stop_ids, most_drawn: a draw of one of these, or the last of so many, is not a plain one.
    is_plain: False: no draw is.
    """

    cdef readonly int lane
    cdef public TokenLog tokens
    cdef readonly PageTable table
    cdef public int filled
    cdef public int num_drawn
    cdef int32_t *c_stop_ids
    cdef int c_num_stop_ids
    cdef int c_most_drawn
    cdef bint c_is_plain

    def __cinit__(self, int lane, TokenLog tokens not None, PageTable table not None, stop_ids=(), int most_drawn=0,
                  bint is_plain=False):
        cdef int i
        self.c_stop_ids = <int32_t *>c_zeroed(len(stop_ids), sizeof(int32_t))
        for i, stop_id in enumerate(stop_ids):
            self.c_stop_ids[i] = stop_id
        self.c_num_stop_ids = len(stop_ids)
        self.lane = lane
        self.tokens = tokens
        self.table = table
        self.c_most_drawn = most_drawn
        self.c_is_plain = is_plain

    def __dealloc__(self):
        free(self.c_stop_ids)

    cdef bint c_goes_on(self) noexcept:
        """Whether one more token is all that follows from the next draw, unless that is a stop token or none."""
        if not self.c_is_plain or self.num_drawn + 1 >= self.c_most_drawn:
            return False
        return (self.filled + 1) % IGNIS_PAGE_TOKENS != 0 and self.tokens.c_count < self.tokens.capacity

    cdef bint c_take(self, int32_t token) noexcept:
        """Takes a plain draw; False, and nothing has changed, where more follows from it than one more token."""
        cdef int i
        if token < 0 or not self.c_goes_on():
            return False
        for i in range(self.c_num_stop_ids):
            if self.c_stop_ids[i] == token:
                return False
        self.tokens.c_tokens[self.tokens.c_count] = token
        self.tokens.c_count += 1
        self.filled += 1
        self.num_drawn += 1
        return True


cdef class Draw:
    """A chosen token, and its log probabilities where the lane asked for them (else 0.0 and no best ones)."""

    cdef readonly int token
    cdef readonly float logprob
    cdef readonly tuple top

    def __cinit__(self, int token, float logprob=0.0, tuple top=()):
        self.token = token
        self.logprob = logprob
        self.top = top


cdef Draw c_draw(const ignis_draw *draw):
    cdef int i
    if draw.num_top == 0:
        return Draw(draw.token, draw.logprob)
    return Draw(draw.token, draw.logprob, tuple([(draw.top_ids[i], draw.top_logprobs[i]) for i in range(draw.num_top)]))


def take_draws(tuple rows not None, draws not None):
    """Takes the draws of a round where one more token, inside a page, is all that follows. Returns the indexes of the
    other rows, which are as they were."""
    cdef Row row
    cdef Draw draw
    cdef int i
    if len(draws) != len(rows):
        raise ValueError(f"{len(draws)} draws for {len(rows)} rows")
    others = []
    for i in range(len(rows)):
        row = rows[i]
        draw = draws[i]
        if not row.c_take(draw.token):
            others.append(i)
    return others


def may_go_on(tuple rows not None):
    """Whether one more token is all that follows from the next draw of each row, as long as it is no stop token: then the
    round after it is known before the draw is."""
    cdef Row row
    for row in rows:
        if not row.c_goes_on():
            return False
    return True


def full_rows(tuple rows not None):
    """Returns the indexes of the rows whose next position is in no page yet."""
    cdef Row row
    cdef int i
    full = []
    for i in range(len(rows)):
        row = rows[i]
        if row.filled >= row.table.c_count * IGNIS_PAGE_TOKENS:
            full.append(i)
    return full


def score(float[:, ::1] logits not None, TokenLog tokens not None, int start, int num_rows, int num_top):
    """Gives a Draw for each of the first rows: the token of the log that stands behind the row's position, its log
    probability and the num_top best ones, of the raw logits. Equal ones: the lower id first.

    logits: float32 [at least num_rows, vocab_size], of positions from start on.
    """
    cdef int c_vocab_size = logits.shape[1]
    cdef int c_row, c_id, c_place, c_count, c_token
    cdef double c_norm
    cdef float c_most
    cdef const float *c_logits
    cdef int[IGNIS_MAX_TOP_LOGPROBS] c_ids
    if not 0 <= num_rows <= logits.shape[0] or start < 0 or start + num_rows >= tokens.c_count:
        raise IndexError((start, num_rows))
    if not 0 <= num_top <= IGNIS_MAX_TOP_LOGPROBS:
        raise ValueError(f"at most {IGNIS_MAX_TOP_LOGPROBS} best tokens")
    draws = []
    for c_row in range(num_rows):
        c_logits = &logits[c_row, 0]
        c_token = tokens.c_tokens[start + c_row + 1]
        if not 0 <= c_token < c_vocab_size:
            raise IndexError(c_token)
        c_count = 0
        with nogil:
            c_most = c_logits[0]
            for c_id in range(1, c_vocab_size):
                if c_logits[c_id] > c_most:
                    c_most = c_logits[c_id]
            c_norm = 0.0
            for c_id in range(c_vocab_size):
                c_norm += exp(<double>c_logits[c_id] - c_most)
            c_norm = c_most + log(c_norm)
            if num_top:
                for c_id in range(c_vocab_size):
                    if c_count == num_top and not c_logits[c_id] > c_logits[c_ids[c_count - 1]]:
                        continue
                    # A new one stands behind its equals, whose ids are lower.
                    c_place = c_count if c_count < num_top else num_top - 1
                    while c_place > 0 and c_logits[c_id] > c_logits[c_ids[c_place - 1]]:
                        c_ids[c_place] = c_ids[c_place - 1]
                        c_place -= 1
                    c_ids[c_place] = c_id
                    if c_count < num_top:
                        c_count += 1
        top = [(c_ids[c_place], <float>(c_logits[c_ids[c_place]] - c_norm)) for c_place in range(c_count)]
        draws.append(Draw(c_token, <float>(c_logits[c_token] - c_norm), tuple(top)))
    return draws


class LeafError(Exception):
    """A leaf refused or failed: a status of ignis_step.h, and the leaf's line of text."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.text = text


cdef class LoadProgress:
    """How far a load is: the leaf writes it, any thread may read it and cancel."""

    cdef ignis_load_progress c_progress

    def __cinit__(self):
        self.c_progress.size = sizeof(ignis_load_progress)

    @property
    def phase(self):
        """The number of an ignis_load_phase."""
        return self.c_progress.phase

    @property
    def done_bytes(self):
        return self.c_progress.done_bytes

    @property
    def total_bytes(self):
        return self.c_progress.total_bytes

    @property
    def is_cancelled(self):
        return self.c_progress.is_cancelled != 0

    def cancel(self):
        """Has the load end soon, holding nothing, with STATUS_CANCELLED."""
        self.c_progress.is_cancelled = 1

    def note(self, int phase, uint64_t done_bytes, uint64_t total_bytes):
        """Writes what a leaf writes; for a leaf that is written in Python."""
        self.c_progress.phase = phase
        self.c_progress.done_bytes = done_bytes
        self.c_progress.total_bytes = total_bytes


cdef class LoadParams:
    """ignis_load_params of a checkpoint, with everything that it points to. Holds the files' buffers, so that they cannot
    be unmapped while this lives."""

    cdef ignis_load_params c_params
    cdef ignis_shape c_shape
    cdef float *c_inv_freq
    cdef ignis_file *c_files
    cdef ignis_tensor *c_tensors
    cdef Py_buffer *c_buffers
    cdef int c_num_buffers
    cdef list c_names

    def __cinit__(self, checkpoint, *, int num_pages, int kv_dtype, int max_context, int max_span, int max_lanes,
                  int num_threads, int num_host_pages=0):
        cdef int i
        shape = checkpoint.shape
        self.c_inv_freq = <float *>c_zeroed(len(shape.rope.inv_freq), sizeof(float))
        self.c_files = <ignis_file *>c_zeroed(len(checkpoint.files), sizeof(ignis_file))
        self.c_tensors = <ignis_tensor *>c_zeroed(len(checkpoint.tensors), sizeof(ignis_tensor))
        self.c_buffers = <Py_buffer *>c_zeroed(len(checkpoint.files), sizeof(Py_buffer))
        if 2 * len(shape.rope.inv_freq) != shape.head_dim:
            raise ValueError(f"{len(shape.rope.inv_freq)} rotary frequencies for a head of {shape.head_dim}")
        for i, value in enumerate(shape.rope.inv_freq):
            self.c_inv_freq[i] = value
        for i, file in enumerate(checkpoint.files):
            self.c_files[i].descriptor = -1
            if file.map is None:
                self.c_files[i].size_bytes = file.size_bytes
                continue
            PyObject_GetBuffer(file.map, &self.c_buffers[i], PyBUF_SIMPLE)
            self.c_num_buffers = i + 1
            self.c_files[i].base = self.c_buffers[i].buf
            self.c_files[i].size_bytes = self.c_buffers[i].len
            self.c_files[i].descriptor = file.descriptor
        self.c_names = [tensor.name.encode() for tensor in checkpoint.tensors]
        for i, tensor in enumerate(checkpoint.tensors):
            self.c_tensors[i].name = PyBytes_AS_STRING(self.c_names[i])
            self.c_tensors[i].dtype = tensor.dtype
            self.c_tensors[i].file = tensor.file
            self.c_tensors[i].offset = tensor.offset
            self.c_tensors[i].size_bytes = tensor.size_bytes
            self.c_tensors[i].rows = tensor.rows
            self.c_tensors[i].cols = tensor.cols
            if tensor.scales is not None:
                self.c_tensors[i].scale_dtype = tensor.scales.dtype
                self.c_tensors[i].scale_file = tensor.scales.file
                self.c_tensors[i].scale_offset = tensor.scales.offset
                self.c_tensors[i].scale_size_bytes = tensor.scales.size_bytes
        self.c_shape.size = sizeof(ignis_shape)
        self.c_shape.architecture = {"llama": IGNIS_ARCH_LLAMA, "qwen3": IGNIS_ARCH_QWEN3}[shape.architecture.value]
        self.c_shape.num_layers = shape.num_layers
        self.c_shape.hidden_size = shape.hidden_size
        self.c_shape.ffn_size = shape.ffn_size
        self.c_shape.num_heads = shape.num_heads
        self.c_shape.num_kv_heads = shape.num_kv_heads
        self.c_shape.head_dim = shape.head_dim
        self.c_shape.vocab_size = shape.vocab_size
        self.c_shape.rms_eps = shape.rms_eps
        self.c_shape.rope_pairs = shape.rope.pairs
        self.c_shape.rope_scale = shape.rope.scale
        self.c_shape.rope_inv_freq = self.c_inv_freq
        self.c_params.size = sizeof(ignis_load_params)
        self.c_params.num_files = len(checkpoint.files)
        self.c_params.shape = &self.c_shape
        self.c_params.files = self.c_files
        self.c_params.tensors = self.c_tensors
        self.c_params.num_tensors = len(checkpoint.tensors)
        self.c_params.num_pages = num_pages
        self.c_params.kv_dtype = kv_dtype
        self.c_params.max_context = max_context
        self.c_params.max_span = max_span
        self.c_params.max_lanes = max_lanes
        self.c_params.num_threads = num_threads
        self.c_params.seed = checkpoint.seed
        self.c_params.num_host_pages = num_host_pages

    def __dealloc__(self):
        cdef int i
        for i in range(self.c_num_buffers):
            PyBuffer_Release(&self.c_buffers[i])
        free(self.c_buffers)
        free(self.c_files)
        free(self.c_tensors)
        free(self.c_inv_freq)


cdef class Leaf:
    """A leaf library, opened by path with local binding, and at most one model in it. One thread at a time."""

    cdef void *c_library
    cdef ignis_model *c_model
    cdef abi_version_fn c_abi_version
    cdef last_error_fn c_last_error
    cdef probe_fn c_probe
    cdef plan_fn c_plan
    cdef load_fn c_load
    cdef unload_fn c_unload
    cdef lane_open_fn c_lane_open
    cdef copy_page_fn c_copy_page
    cdef pages_fn c_pages_out
    cdef pages_fn c_pages_in
    cdef prefill_fn c_prefill
    cdef decode_begin_fn c_decode_begin
    cdef decode_ahead_fn c_decode_ahead
    cdef decode_end_fn c_decode_end
    cdef last_step_fn c_last_step
    cdef measure_fn c_measure
    cdef dequantize_fn c_dequantize
    cdef ignis_row c_rows[IGNIS_MAX_LANES]
    cdef ignis_draw c_draws[IGNIS_MAX_LANES]
    cdef LoadParams c_params
    cdef tuple c_ahead
    cdef readonly str path

    def __cinit__(self, str path not None):
        cdef bytes c_path = path.encode()
        cdef const char *c_path_text = PyBytes_AS_STRING(c_path)
        self.path = path
        with nogil:
            self.c_library = dlopen(c_path_text, RTLD_NOW | RTLD_LOCAL)
        if self.c_library is NULL:
            raise LeafError(IGNIS_NO_DEVICE, dlerror().decode(errors="replace"))
        self.c_abi_version = <abi_version_fn>self.c_symbol(b"ignis_abi_version")
        if self.c_abi_version() != IGNIS_ABI_VERSION:
            raise LeafError(IGNIS_UNSUPPORTED, f"{path} speaks step ABI {self.c_abi_version()}, not {IGNIS_ABI_VERSION}")
        self.c_last_error = <last_error_fn>self.c_symbol(b"ignis_last_error")
        self.c_probe = <probe_fn>self.c_symbol(b"ignis_probe")
        self.c_plan = <plan_fn>self.c_symbol(b"ignis_plan")
        self.c_load = <load_fn>self.c_symbol(b"ignis_load")
        self.c_unload = <unload_fn>self.c_symbol(b"ignis_unload")
        self.c_lane_open = <lane_open_fn>self.c_symbol(b"ignis_lane_open")
        self.c_copy_page = <copy_page_fn>self.c_symbol(b"ignis_copy_page")
        self.c_pages_out = <pages_fn>self.c_symbol(b"ignis_pages_out")
        self.c_pages_in = <pages_fn>self.c_symbol(b"ignis_pages_in")
        self.c_prefill = <prefill_fn>self.c_symbol(b"ignis_prefill")
        self.c_decode_begin = <decode_begin_fn>self.c_symbol(b"ignis_decode_begin")
        self.c_decode_ahead = <decode_ahead_fn>self.c_symbol(b"ignis_decode_ahead")
        self.c_decode_end = <decode_end_fn>self.c_symbol(b"ignis_decode_end")
        self.c_last_step = <last_step_fn>self.c_symbol(b"ignis_last_step")
        self.c_measure = <measure_fn>self.c_symbol(b"ignis_measure")
        self.c_dequantize = <dequantize_fn>self.c_symbol(b"ignis_dequantize")

    def __dealloc__(self):
        if self.c_model is not NULL:
            self.c_unload(self.c_model)
        if self.c_library is not NULL:
            dlclose(self.c_library)

    cdef void *c_symbol(self, bytes name) except NULL:
        cdef void *c_address = dlsym(self.c_library, PyBytes_AS_STRING(name))
        if c_address is NULL:
            raise LeafError(IGNIS_UNSUPPORTED, f"{self.path} has no {name.decode()}")
        return c_address

    cdef int c_checked(self, ignis_status status) except -1:
        """The text is the calling thread's, so this comes before anything else calls the leaf."""
        if status != IGNIS_OK:
            raise LeafError(status, self.c_last_error().decode(errors="replace"))
        return 0

    cdef int c_ensure_loaded(self) except -1:
        if self.c_model is NULL:
            raise LeafError(IGNIS_INVALID, "no model is loaded")
        return 0

    @property
    def is_loaded(self):
        return self.c_model is not NULL

    def probe(self):
        """Returns (name, isa, cores, bytes of memory, bytes of it that are free) of the device, and whether its prefill and
        its decode give a position the same bits."""
        cdef ignis_device_info c_info
        cdef ignis_status c_status
        memset(&c_info, 0, sizeof(c_info))
        c_info.size = sizeof(c_info)
        with nogil:
            c_status = self.c_probe(&c_info)
        self.c_checked(c_status)
        return (c_info.name.decode(errors="replace"), c_info.isa.decode(errors="replace"), c_info.num_cores,
                c_info.memory_bytes, c_info.free_bytes, c_info.context_bytes, c_info.phases_agree == 1,
                c_info.has_own_memory == 1, c_info.gains_ahead == 1)

    def plan(self, LoadParams params not None):
        """Returns the bytes of (weights, embedding, mapped files, workspace, sampling, lanes, recorded rounds, one page, all
        pages, pages in host memory) that a load would hold."""
        cdef ignis_memory_plan c_plan
        cdef ignis_status c_status
        memset(&c_plan, 0, sizeof(c_plan))
        c_plan.size = sizeof(c_plan)
        with nogil:
            c_status = self.c_plan(&params.c_params, &c_plan)
        self.c_checked(c_status)
        return (c_plan.weights_bytes, c_plan.embedding_bytes, c_plan.mapped_bytes, c_plan.workspace_bytes,
                c_plan.sampling_bytes, c_plan.lane_bytes, c_plan.round_bytes, c_plan.kv_page_bytes, c_plan.kv_pool_bytes,
                c_plan.kv_host_bytes)

    def load(self, LoadParams params not None, LoadProgress progress=None):
        """Loads a model; the GIL is released meanwhile. The files stay mapped until `unload`."""
        cdef ignis_model *c_model = NULL
        cdef ignis_status c_status
        if self.c_model is not NULL:
            raise LeafError(IGNIS_INVALID, "a model is loaded already")
        params.c_params.progress = NULL if progress is None else &progress.c_progress
        try:
            with nogil:
                c_status = self.c_load(&params.c_params, &c_model)
        finally:
            params.c_params.progress = NULL
        self.c_checked(c_status)
        self.c_model = c_model
        self.c_params = params

    def unload(self):
        """Frees the model, if there is one."""
        cdef ignis_model *c_model = self.c_model
        self.c_model = NULL
        self.c_ahead = None
        with nogil:
            self.c_unload(c_model)
        self.c_params = None

    def open_lane(self, int lane, TokenLog tokens not None):
        """Starts a lane with the token counts of a log."""
        cdef ignis_status c_status
        self.c_ensure_loaded()
        with nogil:
            c_status = self.c_lane_open(
                self.c_model, lane, tokens.c_tokens, tokens.num_prompt, tokens.c_tokens + tokens.num_prompt,
                tokens.c_count - tokens.num_prompt)
        self.c_checked(c_status)

    def copy_page(self, int source, int target):
        """Copies the KV values of a page, all of its positions, into another."""
        cdef ignis_status c_status
        self.c_ensure_loaded()
        with nogil:
            c_status = self.c_copy_page(self.c_model, source, target)
        self.c_checked(c_status)

    def pages_out(self, moves):
        """Copies pages to places in host memory, in the order of the (page, place) pairs; does not wait for the device."""
        self.c_move(self.c_pages_out, moves)

    def pages_in(self, moves):
        """Copies places in host memory to pages, in the order of the (page, place) pairs, and waits until they are there."""
        self.c_move(self.c_pages_in, moves)

    cdef int c_move(self, pages_fn move, moves) except -1:
        cdef int i
        cdef ignis_status c_status
        cdef uint32_t c_num = len(moves)
        cdef int32_t *c_pages
        self.c_ensure_loaded()
        c_pages = <int32_t *>c_zeroed(2 * <size_t>c_num, sizeof(int32_t))
        try:
            for i, (page, place) in enumerate(moves):
                c_pages[i] = page
                c_pages[c_num + i] = place
            with nogil:
                c_status = move(self.c_model, c_pages, c_pages + c_num, c_num)
        finally:
            free(c_pages)
        self.c_checked(c_status)
        return 0

    def prefill(self, TokenLog tokens not None, int start, int stop, PageTable table not None, int lane=-1,
                SamplingTable sampling=None, float[:, ::1] logits=None):
        """Runs positions [start, stop) of a log; with a lane, returns the draw at position stop, else None.

        logits: float32 [stop - start, vocab_size], written where given.
        """
        cdef ignis_span c_span
        cdef ignis_draw c_drawn
        cdef ignis_status c_status
        self.c_ensure_loaded()
        if not 0 <= start < stop <= tokens.c_count:
            raise IndexError((start, stop))
        if lane >= 0 and (sampling is None or lane >= sampling.num_lanes):
            raise ValueError(f"no sampling for lane {lane}")
        memset(&c_span, 0, sizeof(c_span))
        memset(&c_drawn, 0, sizeof(c_drawn))
        c_span.size = sizeof(c_span)
        c_span.start = start
        c_span.stop = stop
        c_span.num_pages = table.c_count
        c_span.tokens = tokens.c_tokens + start
        c_span.page_table = table.c_pages
        c_span.lane = lane
        if sampling is not None:
            c_span.sampling = sampling.c_rows
            if lane >= 0:
                sampling.c_check(lane, self.c_params.c_shape.vocab_size)
        if logits is not None:
            if logits.shape[0] != stop - start or logits.shape[1] != self.c_params.c_shape.vocab_size:
                raise ValueError("logits: float32 [stop - start, vocab_size]")
            c_span.logits = &logits[0, 0]
        with nogil:
            c_status = self.c_prefill(self.c_model, &c_span, &c_drawn)
        self.c_checked(c_status)
        return c_draw(&c_drawn) if lane >= 0 else None

    def decode(self, tuple rows not None, SamplingTable sampling not None, float[:, ::1] logits=None, meanwhile=None,
               bint goes_on=False):
        """Runs one round of 1 to MAX_LANES rows and returns their draws in order.

        logits: float32 [len(rows), vocab_size], written where given.
        meanwhile: is called once the round is queued, before it is waited for; it calls nothing of this leaf.
        goes_on: the same rows, each one position on, are the next round, and the device may begin it at once. The next
            call is `decode` with this very tuple, whatever came of the rows; may_go_on says whether a tuple may.
        """
        cdef ignis_status c_status, c_ahead_status = IGNIS_OK
        cdef int i
        cdef int c_num_rows = len(rows)
        self.c_ensure_loaded()
        if self.c_ahead is None:
            self.c_begin(rows, sampling, logits)
        elif self.c_ahead is not rows or logits is not None:
            raise ValueError("another round is under way")
        # The rows are kept: what was begun reads their page tables, whatever the caller does with them.
        self.c_ahead = None
        if goes_on:
            c_ahead_status = self.c_decode_ahead(self.c_model)
            if c_ahead_status == IGNIS_OK:
                self.c_ahead = rows
        ahead_error = None if c_ahead_status == IGNIS_OK else self.c_last_error().decode(errors="replace")
        try:
            if meanwhile is not None:
                meanwhile()
        finally:
            with nogil:
                c_status = self.c_decode_end(self.c_model, self.c_draws)
            if c_status != IGNIS_OK:
                self.c_ahead = None
        self.c_checked(c_status)
        if ahead_error is not None:
            raise LeafError(c_ahead_status, ahead_error)
        return [c_draw(&self.c_draws[i]) for i in range(c_num_rows)]

    cdef int c_begin(self, tuple rows, SamplingTable sampling, float[:, ::1] logits) except -1:
        """Queues a round."""
        cdef ignis_round c_round
        cdef Row row
        cdef int i
        cdef int c_num_rows = len(rows)
        if not 1 <= c_num_rows <= IGNIS_MAX_LANES:
            raise ValueError(f"{c_num_rows} rows")
        for i in range(c_num_rows):
            row = rows[i]
            if not 0 <= row.lane < sampling.num_lanes or row.tokens.c_count == 0:
                raise ValueError(f"row {i} has lane {row.lane}")
            sampling.c_check(row.lane, self.c_params.c_shape.vocab_size)
            self.c_rows[i].lane = row.lane
            self.c_rows[i].position = row.tokens.c_count - 1
            self.c_rows[i].token = row.tokens.c_tokens[row.tokens.c_count - 1]
            self.c_rows[i].num_pages = row.table.c_count
            self.c_rows[i].page_table = row.table.c_pages
        memset(&c_round, 0, sizeof(c_round))
        c_round.size = sizeof(c_round)
        c_round.num_rows = c_num_rows
        c_round.rows = self.c_rows
        c_round.sampling = sampling.c_rows
        if logits is not None:
            if logits.shape[0] != c_num_rows or logits.shape[1] != self.c_params.c_shape.vocab_size:
                raise ValueError("logits: float32 [rows, vocab_size]")
            c_round.logits = &logits[0, 0]
        # Queueing takes microseconds: giving the GIL away for it would cost more.
        self.c_checked(self.c_decode_begin(self.c_model, &c_round))
        return 0

    def last_step(self):
        """Returns the seconds of (launching, waiting, the device's own work) of the last span or round."""
        cdef ignis_step_times c_times
        cdef ignis_status c_status
        self.c_ensure_loaded()
        memset(&c_times, 0, sizeof(c_times))
        c_times.size = sizeof(c_times)
        c_status = self.c_last_step(self.c_model, &c_times)
        self.c_checked(c_status)
        return (c_times.launch_s, c_times.wait_s, c_times.device_s)

    def measure(self, int num_threads):
        """Returns what the device can do: (bytes a second read, read and written by a copy, FLOPs of 16-bit products)."""
        cdef ignis_ceilings c_ceilings
        cdef ignis_status c_status
        memset(&c_ceilings, 0, sizeof(c_ceilings))
        c_ceilings.size = sizeof(c_ceilings)
        with nogil:
            c_status = self.c_measure(num_threads, &c_ceilings)
        self.c_checked(c_status)
        return (c_ceilings.read_bytes_s, c_ceilings.copy_bytes_s, c_ceilings.matrix_flops_s)

    def dequantize(self, int dtype, const uint8_t[::1] data not None, float[::1] values not None):
        """Writes the float32 values of len(values) stored elements."""
        cdef ignis_status c_status
        cdef const void *c_data = &data[0]
        cdef float *c_values = &values[0]
        cdef uint64_t c_size_bytes = data.shape[0]
        cdef uint64_t c_count = values.shape[0]
        with nogil:
            c_status = self.c_dequantize(dtype, c_data, c_size_bytes, c_values, c_count)
        self.c_checked(c_status)
