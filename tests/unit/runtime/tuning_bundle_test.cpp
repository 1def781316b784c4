// tests/unit/runtime/tuning_bundle_test.cpp -- results of tuning that a bundle brings along.
#include <gtest/gtest.h>

#include "runtime/bundle/bundle.h"
#include "runtime/loaded_bundles.h"
#include "runtime/tuning_store.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime {
namespace {

TuningRecord record_of(const char* device, char kernel) {
  TuningRecord record;
  record.key.kernel = std::string(64, kernel);
  record.key.size = 25;
  record.key.device = device;
  record.key.multiprocessors = 132;
  record.choice = "block=512";
  record.heuristic = "block=256";
  record.choice_us = 90, record.heuristic_us = 100;
  record.runs = 100;
  record.date = 1000;
  record.name = "k";
  return record;
}

TEST(TuningBundle, LoadingABundleBringsItsResults) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path + "/app.klb";
  BundleWriter writer;
  const std::string lines = to_line(record_of("Bundle GPU", 'b')) + to_line(record_of("Bundle GPU", 'c'));
  writer.add(BundleTuning{"Bundle GPU", 132, lines});
  writer.write(path);
  EXPECT_FALSE(TuningStore::instance().find(record_of("Bundle GPU", 'b').key));
  load_bundle(path);
  EXPECT_EQ(TuningStore::instance().find(record_of("Bundle GPU", 'b').key), record_of("Bundle GPU", 'b'));
  EXPECT_EQ(TuningStore::instance().find(record_of("Bundle GPU", 'c').key), record_of("Bundle GPU", 'c'));
  EXPECT_FALSE(TuningStore::instance().find(record_of("Other GPU", 'b').key));
  reset_bundles();
  TuningStore::instance().forget("Bundle GPU");
}

}  // namespace
}  // namespace kiln::runtime
