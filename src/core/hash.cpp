#include "core/hash.h"

#include <openssl/evp.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <bit>

#include "core/assert.h"

namespace wg {

struct KeyHasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

namespace {
// Fetched once: EVP_sha256() looks the algorithm up anew at each init in OpenSSL 3, which costs more than the hash.
const EVP_MD* sha256() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

std::uint64_t big_endian(const unsigned char* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}
}  // namespace

KeyHasher::KeyHasher() : state_(std::make_unique<State>()) {
  if (!state_->context || EVP_DigestInit_ex(state_->context, sha256(), nullptr) != 1) WG_FATAL("SHA-256 is missing");
}
KeyHasher::~KeyHasher() = default;

KeyHasher& KeyHasher::add(std::string_view part) {
  const std::uint64_t length = part.size();
  EVP_DigestUpdate(state_->context, &length, sizeof length);
  EVP_DigestUpdate(state_->context, part.data(), part.size());
  return *this;
}

SessionKey KeyHasher::finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  EVP_DigestFinal_ex(state_->context, digest, nullptr);
  return {big_endian(digest), big_endian(digest + 8)};
}

std::uint64_t xxh3(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

SessionKey xxh3_wide(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string SessionKey::short_hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(12, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = digits[high >> (60 - 4 * i) & 15];
  return text;
}

}  // namespace wg
