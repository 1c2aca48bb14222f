// warmgate status: a running gateway in the terminal: its replicas, what limits it, and why a session's turns went
// where they went. Reads the admin API.
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/commands.h"
#include "config/config.h"
#include "console/status_text.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace wg::app {
namespace {

struct Given {
  std::string admin = "127.0.0.1:8081", session;
  bool as_json = false;
};

struct Answers {
  std::vector<std::string> bodies;
  std::string failure;
};

net::Task<void> ask_all(net::Loop& loop, config::Address address, std::vector<std::string> paths, Answers& answers) {
  net::HttpClient client(loop, {address.host, address.port, "", ""});
  for (const std::string& path : paths) {
    const Result<net::Reply> reply = co_await client.get(path, std::chrono::seconds(5), 64u << 20);
    if (!reply || reply->status != 200) {
      answers.failure = !reply ? reply.error().what : "it answered " + std::to_string(reply->status) + " to " + path;
      break;
    }
    answers.bodies.push_back(reply->body);
  }
  loop.stop();
}

// As `serve` prints it, or without the scheme.
std::string without_scheme(std::string address) {
  if (address.starts_with("http://")) address.erase(0, 7);
  if (address.ends_with('/')) address.pop_back();
  return address;
}

int status_of(const Given& given) {
  const auto address = config::parse_address(given.admin);
  if (!address) {
    std::cerr << "warmgate status: --admin: " << address.error().what << '\n';
    return 2;
  }
  std::vector<std::string> paths{"/api/v1/replicas", "/api/v1/warm"};
  if (!given.session.empty())
    paths = {"/api/v1/sessions?session=" + given.session, "/api/v1/decisions?limit=50&session=" + given.session};
  Answers answers;
  {
    net::Loop loop;
    loop.post([&] { net::spawn(ask_all(loop, *address, paths, answers)); });
    loop.run();
  }
  if (!answers.failure.empty()) {
    std::cerr << "warmgate status: nothing to learn from http://" << given.admin << ": " << answers.failure << '\n';
    return 1;
  }
  if (given.as_json) {
    for (const std::string& body : answers.bodies) std::cout << body;
    return 0;
  }
  const auto text = given.session.empty() ? console::status_text(answers.bodies[0], answers.bodies[1])
                                          : console::session_text(answers.bodies[0], answers.bodies[1]);
  if (!text) {
    std::cerr << "warmgate status: http://" << given.admin << ": " << text.error().what << '\n';
    return 1;
  }
  std::cout << *text;
  return 0;
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  auto* const command =
      app.add_subcommand("status", "Show a running gateway: replicas, what limits it, why turns went where");
  const auto given = std::make_shared<Given>();
  command->add_option("--admin", given->admin, "its admin address, HOST:PORT or http://HOST:PORT (127.0.0.1:8081)");
  command
      ->add_option("--session", given->session,
                   "explain the latest decisions on this session, as x-warmgate-session names it")
      ->check([](const std::string& text) {
        const bool is_hex = text.size() == 12 && text.find_first_not_of("0123456789abcdef") == text.npos;
        return is_hex ? std::string() : "'" + text + "' is no session: the 12 hex digits of x-warmgate-session are";
      });
  command->add_flag("--json", given->as_json, "the admin API's answers as they are");
  command->footer(
      "examples:\n"
      "  warmgate status\n"
      "  warmgate status --admin 10.0.0.5:8081 --session 3f2a9c01d4e7");
  command->callback([given, &status] {
    given->admin = without_scheme(given->admin);
    status = status_of(*given);
  });
}

}  // namespace wg::app
