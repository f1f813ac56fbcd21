//! Servers that ask for a token, and those that must.

use serve::{Error, Limits, Server, Settings, Token};

use crate::running_server::{Described, Running, TOKEN, has_status};

fn guarded() -> Running {
    Running::start(Token::new(TOKEN, [9; 32]), Limits::default())
}

#[test]
fn without_the_token_nothing_is_shown() {
    let server = guarded();
    for path in [
        "/",
        "/live",
        "/runs",
        "/runs/r1",
        "/compare?a=r1&b=r2",
        "/metrics",
        "/api/snapshot",
        "/api/runs",
        "/api/runs/r1",
        "/api/compare?a=r1&b=r2",
    ] {
        for lines in [
            "",
            "Authorization: Bearer 0123456789abcdeX\r\n",
            "Cookie: numalab_session=\r\n",
        ] {
            let answer = server.ask(&format!("GET {path}"), lines);
            has_status(&answer, 401);
            assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
        }
        let with = format!("Authorization: Bearer {TOKEN}\r\n");
        let answer = server.ask(&format!("GET {path}"), &with);
        assert!(!answer.starts_with("HTTP/1.1 401"), "{answer}");
    }
    has_status(&server.get("/healthz"), 200);
}

#[test]
fn a_token_in_the_path_is_not_taken() {
    has_status(&guarded().get(&format!("/?token={TOKEN}")), 401);
}

#[test]
fn a_browser_logs_in_with_a_form_and_gets_a_cookie_that_is_not_the_token() {
    let server = guarded();
    let post = |token: &str| {
        let form = format!("token={token}");
        let head = format!("Content-Length: {}\r\n\r\n{form}", form.len());
        server
            .send(format!("POST /login HTTP/1.1\r\nHost: {}\r\n{head}", server.address).as_bytes())
    };
    has_status(&post("0123456789abcdeX"), 401);
    has_status(&post(""), 401);
    let answer = post(TOKEN);
    has_status(&answer, 303);
    let cookie = answer
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .unwrap();
    assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
    assert!(!cookie.contains(TOKEN), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    has_status(
        &server.ask("GET /runs", &format!("Cookie: {cookie}\r\n")),
        200,
    );
}

#[test]
fn a_server_that_others_reach_does_not_start_without_a_token() {
    let content = Described {
        looks: std::sync::Arc::default(),
        slow: std::sync::Arc::default(),
    };
    let settings = Settings {
        address: "0.0.0.0:0".parse().unwrap(),
        token: None,
        version: String::new(),
        limits: Limits::default(),
    };
    let refused = Server::bind(settings, Box::new(content));
    assert!(matches!(refused, Err(Error::NoToken { .. })));
}
