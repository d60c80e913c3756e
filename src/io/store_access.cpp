#include "launch/io/store_access.hpp"

#include "launch/io/etcd_client.hpp"
#include "launch/io/file_store_client.hpp"
#include "launch/io/store_client.hpp"

#include <utility>

namespace launch {
namespace asio = boost::asio;

namespace {

template <class Client>
Result<std::shared_ptr<StoreAccess>> shared(Result<Client> client) {
  if (!client) return client.error();
  return std::shared_ptr<StoreAccess>(std::make_shared<Client>(*std::move(client)));
}

}  // namespace

StoreAccess::~StoreAccess() = default;

asio::awaitable<Result<std::shared_ptr<StoreAccess>>> reach_store(Endpoint endpoint, std::string run_id,
                                                                  Time deadline) {
  if (endpoint.kind == StoreKind::etcd) {
    auto etcd = co_await connect_to_etcd(std::move(endpoint), std::move(run_id), deadline);
    co_return shared(std::move(etcd));
  }
  if (endpoint.kind == StoreKind::file) {
    auto file = co_await open_file_store(std::move(endpoint.host), deadline);
    co_return shared(std::move(file));
  }
  auto tcp = co_await connect_once(std::move(endpoint), deadline);
  co_return shared(std::move(tcp));
}

}  // namespace launch
