#include "client/testing/tls_material.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "pkg/base/check.h"

namespace dra::client::testing {
namespace {

std::string text_of(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

std::string pem(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio);
}

std::string pem(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return text_of(bio);
}

void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  DRA_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* make_certificate(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, const std::string& names) {
  static long serial = 1;
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509* signer = issuer != nullptr ? issuer : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  extend(certificate, signer, NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!names.empty()) extend(certificate, signer, NID_subject_alt_name, names);
  DRA_CHECK(X509_sign(certificate, issuer_key, EVP_sha256()) > 0);
  return certificate;
}

}  // namespace

TlsMaterial make_tls_material(const std::string& server_name) {
  EVP_PKEY* ca_key = EVP_EC_gen("P-256");
  EVP_PKEY* server_key = EVP_EC_gen("P-256");
  EVP_PKEY* client_key = EVP_EC_gen("P-256");
  X509* ca = make_certificate("test authority", ca_key, nullptr, ca_key, "");
  X509* server = make_certificate("server", server_key, ca, ca_key, "DNS:" + server_name + ",IP:127.0.0.1");
  X509* client = make_certificate("client", client_key, ca, ca_key, "");
  TlsMaterial out{pem(ca), pem(server), pem(server_key), pem(client), pem(client_key)};
  for (X509* certificate : {ca, server, client}) X509_free(certificate);
  for (EVP_PKEY* key : {ca_key, server_key, client_key}) EVP_PKEY_free(key);
  return out;
}

}  // namespace dra::client::testing
