#include "launch/core/config/store_settings.hpp"

#include "settling.hpp"

namespace launch::store_settings_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Args etcd(const Args& more) {
  Args args{"--nnodes=2", "--rdzv-backend=etcd-v2", "--rdzv-id=j"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

Args file(const Args& more) {
  Args args{"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-conf=store_type=file"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(StoreSettings, AnEtcdIsAtTheEndpoint) {
  const std::vector<std::pair<Args, Endpoint>> table{
      {{"--rdzv-endpoint=e1:4001"}, {"e1", 4001, StoreKind::etcd}},
      {{"--rdzv-endpoint=e1"}, {"e1", 2379, StoreKind::etcd}},
      {{"--rdzv-endpoint=[::1]:7"}, {"::1", 7, StoreKind::etcd}},
      {{}, {"localhost", 2379, StoreKind::etcd}},
  };
  for (const auto& [args, endpoint] : table) {
    const Config config = config_of(etcd(args));
    ASSERT_NE(config.c10d(), nullptr);
    EXPECT_EQ(config.store(), endpoint);
    EXPECT_EQ(config.c10d()->is_host, false);
    EXPECT_EQ(config.events.backend, "etcd-v2");
    EXPECT_THAT(config.notices, IsEmpty());
  }
}

TEST(StoreSettings, ItsKeysAreThoseOfC10dAndOfTheConnection) {
  const Config config =
      config_of(etcd({"--rdzv-conf=protocol=HTTP,read_timeout=5,join_timeout=9,last_call_timeout=2"}));
  EXPECT_THAT(config.notices, IsEmpty());
  EXPECT_EQ(config.c10d()->settings.join_timeout, std::chrono::seconds(9));
  EXPECT_THAT(config_of(etcd({"--rdzv-conf=ca_cert=a,ssl_cert=b,is_host=1"})).notices,
              ElementsAre(HasSubstr("is_host has no effect: no node hosts the store at localhost:2379"),
                          HasSubstr("ssl_cert, ca_cert have no effect with http")));
}

TEST(StoreSettings, AFileIsTheEndpoint) {
  const Config config = config_of(file({"--rdzv-endpoint=/shared/a:b.store"}));
  EXPECT_EQ(config.store(), (Endpoint{"/shared/a:b.store", 0, StoreKind::file}));
  EXPECT_EQ(to_text(config.store()), "/shared/a:b.store");
  EXPECT_EQ(config.c10d()->is_host, false);
  EXPECT_EQ(config.events.backend, "c10d");
}

TEST(StoreSettings, OneNodeHasNobodyToMeet) {
  for (const Args& args : {Args{"--rdzv-backend=etcd-v2", "--rdzv-endpoint=e1"},
                           Args{"--rdzv-backend=c10d", "--rdzv-conf=store_type=file", "--rdzv-endpoint=/a/b"}}) {
    EXPECT_EQ(config_of(args).c10d(), nullptr);
    EXPECT_EQ(config_of(args).store(), (Endpoint{"127.0.0.1", 0}));
  }
}

TEST(StoreSettings, WhatCannotBeIsOneClearLine) {
  const std::vector<std::pair<Args, std::string>> table{
      {etcd({"--rdzv-conf=protocol=https"}), "protocol=https: launch speaks to an etcd by http only"},
      {etcd({"--rdzv-conf=protocol=ftp"}), "protocol must be http"},
      {etcd({"--rdzv-endpoint=e1:0"}), "--rdzv-endpoint e1:0: an etcd has no port 0"},
      {etcd({"--rdzv-endpoint=e 1"}), "a host name consists of"},
      {{"--nnodes=2", "--rdzv-backend=etcd"},
       "torchrun's older etcd rendezvous is not supported; give all nodes etcd-v2"},
      {{"--nnodes=2", "--rdzv-backend=bogus"}, "--rdzv-backend bogus: must be static, c10d or etcd-v2"},
      {file({}), "the file is missing; give all nodes its path by --rdzv-endpoint"},
  };
  for (const auto& [args, message] : table) EXPECT_THAT(fault_of(args), HasSubstr(message));
}

}  // namespace launch::store_settings_test
