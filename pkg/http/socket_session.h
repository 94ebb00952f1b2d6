// The session of an accepted socket, with or without TLS. This header includes asio: it is for .cc files of this
// folder.
#pragma once

#include <utility>

// asio after <utility> for Boost 1.74
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "pkg/http/session.h"

namespace dra::http {

// An IPv4 peer on a dual-stack socket counts under its IPv4 address.
std::string address_text(const boost::asio::ip::address& address);

// `tls` may be null: plain HTTP. OpenSSL counts references to the context, so the session may outlive it.
std::shared_ptr<Session> make_session(std::shared_ptr<ServerState> server, const std::string& peer,
                                      boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls);

}  // namespace dra::http
