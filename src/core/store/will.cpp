#include "launch/core/store/will.hpp"

#include "launch/core/base/json_reader.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_will = 64 * 1024;  // without a limit, JSON could take seconds and a lot of memory

}  // namespace

std::string to_json(const Will& will) {
  if (will.empty()) return "";
  Json json = {{"words", Json::array()}, {"gone", will.gone}};
  for (const Will::Word& word : will.words)
    json["words"].push_back(
        {{"key", word.key}, {"closed", word.if_closed}, {"silent", word.if_silent}, {"unless", word.unless}});
  if (will.claim)
    json["claim"] = {{"key", will.claim->key},
                     {"holder", will.claim->holder},
                     {"begun", will.claim->begun},
                     {"undo", will.claim->undo}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<Will> parse_will(std::string_view text) {
  if (text.empty()) return Will{};
  if (text.size() > longest_will) return protocol_error("a will is too long");
  const JsonValue json = read_json(text, {.size = longest_will});
  Needed need;
  Will will;
  for (const JsonValue& word : need(json["words"].list())) {
    will.words.push_back({need(word["key"].text()), need(word["closed"].text()), need(word["silent"].text()), ""});
    if (const JsonValue unless = word["unless"]; unless.present())  // older versions leave it out
      will.words.back().unless = need(unless.text());
  }
  will.gone = need(json["gone"].texts());
  if (const JsonValue claim = json["claim"]; claim.present())
    will.claim = Will::Claim{need(claim["key"].text()), need(claim["holder"].text()), need(claim["begun"].text()),
                             need(claim["undo"].texts())};
  if (!need.met()) return protocol_error("this is not a will");
  return will;
}

std::vector<Request> deeds_of(const Will& will, bool silent, std::string_view claimed, bool begun) {
  std::vector<Request> deeds;
  if (will.claim && claimed != will.claim->holder) return deeds;
  if (will.claim && !will.claim->begun.empty() && !begun) {
    for (const std::string& key : will.claim->undo) deeds.emplace_back(DeleteKeyRequest{key});
    deeds.emplace_back(DeleteKeyRequest{will.claim->key});
    return deeds;
  }
  for (const Will::Word& word : will.words)
    deeds.emplace_back(CompareSetRequest{word.key, "", silent ? word.if_silent : word.if_closed});
  for (const std::string& key : will.gone) deeds.emplace_back(CompareSetRequest{key, "", "gone"});
  return deeds;
}

std::string claimant_of(const Will& will) {
  return will.claim ? will.claim->key + '\0' + will.claim->holder : std::string();
}

}  // namespace launch
