// tests/embed/c_arguments.c -- what callers may get wrong in structures, flags, names and texts, and the words they are
// told: rules of kiln_c_types.h and E05.
#include "c_test.h"

static kiln_graph* graph;
static kiln_value x;  // f32, one axis

// A structure of a later header: what this library does not know must be zero.
struct later_options {
  kiln_options known;
  int64_t added[4];
};
struct later_info {
  kiln_graph_info known;
  int64_t added[4];
};

static void test_sizes_of_structures(void) {
  kiln_kernel* kernel = NULL;
  struct later_options later;
  struct later_info info;
  memset(&later, 0, sizeof later);
  later.known.struct_size = sizeof later;
  OK(kiln_kernel_create(graph, &later.known, &kernel));
  kiln_kernel_destroy(kernel);
  kernel = NULL;
  for (size_t i = 0; i < sizeof later.added; ++i) {  // whichever byte it is
    memset(later.added, 0, sizeof later.added);
    ((unsigned char*)later.added)[i] = 1;
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_kernel_create(graph, &later.known, &kernel));
  }
  CHECK_MESSAGE("older than the header");
  {
    static const size_t sizes[] = {0, 1, sizeof(kiln_options) - 1, 1 << 20, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      later.known.struct_size = sizes[i];
      CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_kernel_create(graph, &later.known, &kernel));
      CHECK_MESSAGE("sizeof *options");
    }
  }
  CHECK(kernel == NULL);
  memset(&info, 0x5a, sizeof info);  // members of later versions become zero where the library writes
  info.known.struct_size = sizeof info;
  OK(kiln_graph_get_info(graph, &info.known));
  CHECK(info.known.inputs == 1 && info.known.struct_size == sizeof info);
  for (size_t i = 0; i < 4; ++i) CHECK(info.added[i] == 0);
}

static void test_flags(void) {
  static const int32_t odd[] = {-1, 2, 256, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
    kiln_kernel* kernel = NULL;
    kiln_profiler* profiler = NULL;
    kiln_value v;
    for (int which = 0; which < 3; ++which) {
      kiln_options options = {0};
      options.struct_size = sizeof options;
      *(which == 0 ? &options.no_contract : which == 1 ? &options.fast_math : &options.lineinfo) = odd[i];
      CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_kernel_create(graph, &options, &kernel));
    }
    for (int which = 0; which < 3; ++which) {
      kiln_reduce_options options = {0};
      options.struct_size = sizeof options;
      *(which == 0 ? &options.keepdims : which == 1 ? &options.uses_accumulate : &options.reserved) = odd[i];
      CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_reduce(graph, KILN_REDUCE_sum, x, &options, &v));
    }
    {
      const kiln_slice item = {odd[i], 0, 1, 1};
      if (odd[i] != 2) CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_slice(graph, x, &item, 1, &v));
    }
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_profile_start(odd[i], &profiler));
    CHECK(kernel == NULL && profiler == NULL);
  }
  {
    static const int64_t flags[] = {KILN_SLICE_INDEX, KILN_SLICE_INDEX | KILN_SLICE_HAS_STOP, 7, 8};
    kiln_value v;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
      const kiln_slice item = {flags[i], 0, 1, 1};
      CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_slice(graph, x, &item, 1, &v));
    }
  }
}

static void test_extents_that_follow(void) {
  const int64_t two[] = {-1, -1}, three[] = {-1, 2, -1}, below[] = {2, -2}, one[] = {-1, 2};
  kiln_value v;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_reshape(graph, x, two, 2, &v));
  CHECK_MESSAGE("more than one extent of -1");
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_reshape(graph, x, three, 3, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_reshape(graph, x, below, 2, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_broadcast_to(graph, x, one, 2, &v));
  OK(kiln_graph_reshape(graph, x, one, 2, &v));
}

static int is_utf8(const char* text) {
  const unsigned char* c = (const unsigned char*)text;
  while (*c) {
    const int more = *c < 0x80 ? 0 : *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc2 ? 1 : -1;
    if (more < 0) return 0;
    ++c;
    for (int i = 0; i < more; ++i, ++c)
      if ((*c & 0xc0) != 0x80) return 0;
  }
  return 1;
}

static void test_names(void) {
  // A lone continuation, an overlong '/', a surrogate, beyond U+10FFFF, a character cut off; quotes and line ends.
  static const char* const bad[] = {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "na\xc3", "a\"b",
                                    "a\\b", "a\nb",     "\x7f",         "\xe2\x80\xae"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_set_name(graph, bad[i]));
    CHECK(is_utf8(kiln_last_error()));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_at(graph, bad[i], 1));
    CHECK(is_utf8(kiln_last_error()));
  }
  OK(kiln_graph_set_name(graph,
                         "Gr\xc3\xb6\xc3\x9f"
                         "e \xe2\x82\xac \xf0\x9f\x94\xa5"));
  {
    char text[400];
    size_t length = 0;
    kiln_graph* again = NULL;
    OK(kiln_graph_text(graph, text, sizeof text, &length));
    CHECK(strstr(text,
                 "Gr\xc3\xb6\xc3\x9f"
                 "e") != NULL);
    OK(kiln_graph_parse(text, length, &again));
    kiln_graph_destroy(again);
    again = NULL;
    CHECK_STATUS(KILN_ERROR_PARSE, kiln_graph_parse("kiln graph 1\nname \"\xff\"\n", SIZE_MAX, &again));
    CHECK_MESSAGE("line 2: byte 6 is not UTF-8");
    CHECK_STATUS(KILN_ERROR_PARSE, kiln_graph_parse("kiln graph 1\n# \xed\xa0\x80\n", SIZE_MAX, &again));
    CHECK(again == NULL);
  }
  // Names of files are bytes to the system; the message is UTF-8 all the same.
  CHECK_STATUS(KILN_ERROR_IO, kiln_bundle_load("/nowhere/\xff\xfe.klb"));
  CHECK(is_utf8(kiln_last_error()));
  CHECK_MESSAGE("/nowhere/??.klb");
}

// No name and no advice of C++ in what C programs are told.
static void check_words(kiln_status status) {
  static const char* const cpp[] = {"kl::", "std::", "static_cast", ".to(", "astype", "{.", "lambda", "View<", "eval("};
  CHECK(status != KILN_OK);
  for (size_t i = 0; i < sizeof cpp / sizeof *cpp; ++i) {
    if (!strstr(kiln_last_error(), cpp[i])) continue;
    printf("\"%s\" says %s\n", kiln_last_error(), cpp[i]);
    CHECK(!"words of C++");
  }
}

static void test_words(void) {
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  float data[6] = {0}, out[6];
  const int64_t two[] = {2}, three[] = {3};
  kiln_value b, c, pair[2], v;
  int64_t big = INT64_MAX;
  kiln_kernel* kernel = NULL;
  kiln_raw_kernel* raw = NULL;
  kiln_tensor in[2] = {{data, two, NULL, 1, KILN_F32}, {data, three, NULL, 1, KILN_F32}};
  const kiln_tensor to = {out, two, NULL, 1, KILN_F32};
  OK(kiln_graph_input(graph, KILN_B1, 1, &b));
  OK(kiln_graph_input(graph, KILN_C64, 1, &c));
  pair[0] = b, pair[1] = b;
  check_words(kiln_graph_operation(graph, KILN_OP_sub, pair, 2, &v));
  pair[0] = c, pair[1] = c;
  check_words(kiln_graph_operation(graph, KILN_OP_lt, pair, 2, &v));
  pair[0] = c, pair[1] = x;
  check_words(kiln_graph_operation(graph, KILN_OP_atan2, pair, 2, &v));
  check_words(kiln_graph_cast(graph, c, KILN_F32, &v));
  check_words(kiln_graph_reduce(graph, KILN_REDUCE_max, c, NULL, &v));
  check_words(kiln_graph_index(graph, x, 3, &v));
  check_words(kiln_graph_scan(graph, KILN_SCAN_cumsum, x, 4, &v));
  check_words(kiln_graph_take(graph, KILN_TAKE_axis, x, x, 0, KILN_OUTSIDE_clip, &v));
  check_words(kiln_graph_random(graph, KILN_RANDOM_normal, KILN_I32, x, x, &v));
  {
    kiln_graph* sum = NULL;
    kiln_value i8, number;
    OK(kiln_graph_create(&sum));
    OK(kiln_graph_input(sum, KILN_I8, 1, &i8));
    OK(kiln_graph_constant(sum, KILN_I64, &big, KILN_WEAK, &number));
    pair[0] = i8, pair[1] = number;
    check_words(kiln_graph_operation(sum, KILN_OP_add, pair, 2, &v));  // does not fit
    kiln_graph_destroy(sum);
    OK(kiln_graph_create(&sum));
    OK(kiln_graph_input(sum, KILN_F32, 1, &pair[0]));
    OK(kiln_graph_input(sum, KILN_F32, 1, &pair[1]));
    OK(kiln_graph_operation(sum, KILN_OP_add, pair, 2, &v));
    OK(kiln_graph_output(sum, v));
    OK(kiln_kernel_create(sum, NULL, &kernel));
    check_words(kiln_launch_raw(kernel, cpu, NULL, in, 2, NULL, 0, &to, 1));  // shapes that do not broadcast
    in[0].shape = three;
    check_words(kiln_launch_raw(kernel, cpu, NULL, in, 2, NULL, 0, &to, 1));  // a destination of another shape
    kiln_kernel_destroy(kernel);
    kiln_graph_destroy(sum);
  }
  OK(kiln_raw_kernel_create("f", "__global__ void f(int) {}", NULL, &raw));
  check_words(kiln_raw_kernel_launch(raw, cpu, NULL, NULL, 1, NULL, 0));
  kiln_raw_kernel_destroy(raw);
  raw = NULL;
  check_words(kiln_raw_kernel_create("", "", NULL, &raw));
}

int hostile_failures(void);  // c_hostile.c

int main(void) {
  OK(kiln_graph_create(&graph));
  OK(kiln_graph_input(graph, KILN_F32, 1, &x));
  OK(kiln_graph_output(graph, x));
  test_sizes_of_structures();
  test_flags();
  test_extents_that_follow();
  test_names();
  test_words();
  kiln_graph_destroy(graph);
  failures += hostile_failures();
  if (failures == 0) puts("all checks passed");
  return failures ? 1 : 0;
}
