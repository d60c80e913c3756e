#include "launch/core/base/base64.hpp"

#include <gtest/gtest.h>

namespace launch::base64_test {

TEST(Base64, WritesAndReadsTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xff\xfe\xfb", "//77"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
}

TEST(Base64, RefusesWhatItDidNotWrite) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Z===", "====", "Zm9v\n", "Zm9v=Zg=", "Zm-_", "Zh==", "Zm9="})
    EXPECT_FALSE(decode_base64(text)) << text;
}

}  // namespace launch::base64_test
