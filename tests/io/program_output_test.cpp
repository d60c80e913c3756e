#include "launch/io/program_output.hpp"

#include "launch/io/background.hpp"
#include "launch/io/files.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::program_output_test {

class AProgramOutput : public testing::Test {
 protected:
  AProgramOutput() {
    auto opened = ProgramOutput::open(context_.get_executor(), [this](std::string_view bytes) { taken_ += bytes; });
    output_ = *opened;
    writer_ = output_->writer();
  }
  ~AProgramOutput() override { ::unlink(path_.c_str()); }

  void write(const std::string& text) const {
    ASSERT_EQ(::write(writer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Runs the loop until rest() has returned.
  void end() {
    bool ended = false;
    const auto wait = [this, &ended]() -> boost::asio::awaitable<void> {
      co_await output_->rest();
      ended = true;
    };
    run_in_background(context_.get_executor(), wait());
    while (!ended) context_.run_one();
  }

  boost::asio::io_context context_;
  DiskThread disk_{context_.get_executor()};
  std::string path_ = testing::TempDir() + "program_output_test_" + std::to_string(::getpid());
  std::string taken_;
  std::shared_ptr<ProgramOutput> output_;
  Fd writer_;
};

TEST_F(AProgramOutput, ComesToItsOwnerAndToTheFile) {
  output_->keep_in(path_, disk_);
  write("one\n");
  write("two");
  writer_.reset();
  end();
  EXPECT_EQ(taken_, "one\ntwo");
  EXPECT_EQ(read_file(path_, 100), "one\ntwo");
}

TEST_F(AProgramOutput, OfOneThatLeavesItsPipeToAnotherIsReadToItsEndAllTheSame) {
  write("last words");
  end();  // writer_ is still open
  EXPECT_EQ(taken_, "last words");
}

TEST_F(AProgramOutput, IsNotLostIfTheFileCannotBeWritten) {
  output_->keep_in(path_ + "/no/such/folder", disk_);
  write("here");
  writer_.reset();
  end();
  EXPECT_EQ(taken_, "here");
}

}  // namespace launch::program_output_test
