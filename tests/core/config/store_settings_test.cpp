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

Args older(const Args& more) {
  Args args{"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-id=j"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(StoreSettings, TheOlderBackendHasKeysOfItsOwn) {
  const Config usual = config_of(older({"--rdzv-endpoint=e1"}));
  EXPECT_EQ(usual.store(), (Endpoint{"e1", 2379, StoreKind::etcd, "/torchelastic/p2p"}));
  EXPECT_EQ(usual.c10d()->settings.join_timeout, std::chrono::seconds(900));
  EXPECT_EQ(usual.c10d()->settings.last_call_timeout, std::chrono::seconds(30));
  EXPECT_EQ(usual.c10d()->settings.keep_alive_interval * usual.c10d()->settings.keep_alive_max_attempt,
            std::chrono::seconds(10));
  EXPECT_FALSE(usual.serves_workers);
  EXPECT_EQ(usual.events.backend, "etcd");
  EXPECT_THAT(usual.notices, IsEmpty());
  const Config told = config_of(older({"--rdzv-conf=timeout=7,last_call_timeout=2,etcd_prefix=/mine,protocol=http"}));
  EXPECT_EQ(told.store(), (Endpoint{"localhost", 2379, StoreKind::etcd, "/mine"}));
  EXPECT_EQ(told.c10d()->settings.join_timeout, std::chrono::seconds(7));
  EXPECT_EQ(told.c10d()->settings.last_call_timeout, std::chrono::seconds(2));
  EXPECT_THAT(told.notices, IsEmpty());
}

TEST(StoreSettings, OfTheNumbersOfC10dTheOlderBackendReadsTwo) {
  const Config other = config_of(older({"--rdzv-conf=join_timeout=abc,keep_alive_interval=-1,is_host=zz"}));
  EXPECT_EQ(other.c10d()->settings.join_timeout, std::chrono::seconds(900));
  EXPECT_EQ(other.c10d()->settings.keep_alive_interval, std::chrono::seconds(5));
  const Config told = config_of(older({"--rdzv-conf=last_call_timeout=0,close_timeout=9"}));
  EXPECT_EQ(told.c10d()->settings.last_call_timeout, std::chrono::seconds(0));
  EXPECT_EQ(told.c10d()->settings.close_timeout, std::chrono::seconds(9));
  EXPECT_THAT(told.notices, IsEmpty());
}

TEST(StoreSettings, KeysOfOtherBackendsAreNoticed) {
  EXPECT_THAT(config_of(older({"--rdzv-conf=join_timeout=5,keep_alive_interval=1,last_call_timeout=2"})).notices,
              ElementsAre(HasSubstr("join_timeout, keep_alive_interval have no effect with --rdzv-backend etcd, where "
                                    "timeout bounds the wait for other nodes")));
  EXPECT_THAT(config_of(older({"--rdzv-conf=cacert=a,cert=b"})).notices,
              ElementsAre(HasSubstr("cert, cacert have no effect with http")));
  EXPECT_THAT(config_of(older({"--rdzv-conf=ca_cert=a"})).notices, ElementsAre(HasSubstr("ca_cert is no key that")));
  EXPECT_THAT(config_of(etcd({"--rdzv-conf=etcd_prefix=/a"})).notices,
              ElementsAre(HasSubstr("etcd_prefix is no key that launch knows")));
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
      {{"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-id=j", "--rdzv-conf=timeout=0"}, "expected a timeout above 0"},
      {{"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-id=j", "--rdzv-conf=protocol=https"},
       "protocol=https: launch speaks to an etcd by http only"},
      {older({"--rdzv-conf=last_call_timeout=-1"}), "last_call_timeout must be a whole number, 0 or above"},
      {older({"--rdzv-conf=close_timeout=0"}), "close_timeout must be a whole number above 0"},
      {etcd({"--rdzv-conf=last_call_timeout=0"}), "last_call_timeout must be a whole number above 0"},
      {{"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-endpoint=e1:0"}, "--rdzv-endpoint e1:0: an etcd has no port 0"},
      {{"--nnodes=2", "--rdzv-backend=bogus"}, "--rdzv-backend bogus: must be static, c10d, etcd-v2 or etcd"},
      {file({}), "the file is missing; give all nodes its path by --rdzv-endpoint"},
  };
  for (const auto& [args, message] : table) EXPECT_THAT(fault_of(args), HasSubstr(message));
}

}  // namespace launch::store_settings_test
