#include "launch/core/host/kernel_lack.hpp"

#include <gtest/gtest.h>

namespace launch::kernel_lack_test {

TEST(KernelLack, SaysWhatFollows) {
  EXPECT_EQ(
      to_text(KernelLack{KernelPart::pidfd_open, "Function not implemented"}),
      "this system gives launch no pidfd_open() (Function not implemented): the end of a worker may be seen up to "
      "50 ms later");
  EXPECT_EQ(to_text(KernelLack{KernelPart::worker_group, "version 2 is not mounted"}),
            "this system gives launch no control group for the workers (version 2 is not mounted): what they leave "
            "behind is found process by process, and not ended at one instant");
}

TEST(KernelLack, EachHasWordsOfItsOwn) {
  for (const KernelPart part : {KernelPart::worker_group, KernelPart::clone_into_group, KernelPart::pidfd_open,
                                KernelPart::pidfd_send_signal, KernelPart::close_range})
    EXPECT_EQ(to_text(KernelLack{part, "x"}).find("something"), std::string::npos);
}

}  // namespace launch::kernel_lack_test
