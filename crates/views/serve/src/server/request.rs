//! One request: refuses what may not be asked, logs in, and answers the rest.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderName};
use hyper::{Method, Request, Response, StatusCode};

use super::access::{Token, is_own_name};
use super::answer::Answer;
use super::routes::{self, Place};
use super::shown::{Shown, missing, unauthorized};

/// Maximum size of the form with the token.
const LOGIN_MAX: usize = 4096;
/// The form must arrive within this time.
const LOGIN_WITHIN: Duration = Duration::from_secs(10);

/// What every request is answered from.
pub(super) struct Server {
    /// The address it listens on.
    pub bound: SocketAddr,
    /// The token that readers must show, if any.
    pub token: Option<Token>,
    /// What is shown.
    pub shown: Shown,
}

/// Answers a request.
pub(super) async fn handle(
    server: Arc<Server>,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    answer(server, request).await.response()
}

async fn answer(server: Arc<Server>, request: Request<Incoming>) -> Answer {
    if let Some(refusal) = refusal(&server, &request) {
        return refusal;
    }
    let Some((route, id)) = routes::find(request.uri().path()) else {
        return missing();
    };
    let place = route.place;
    if request.method() == Method::POST {
        return login(&server, request).await;
    }
    let value = |name: HeaderName| request.headers().get(name)?.to_str().ok();
    let is_admitted = server
        .token
        .as_ref()
        .is_none_or(|token| token.admits(value(header::AUTHORIZATION), value(header::COOKIE)));
    if !is_admitted && !route.is_open {
        return unauthorized(place, false);
    }
    let (id, query) = (
        id.to_owned(),
        request.uri().query().unwrap_or_default().to_owned(),
    );
    let made = tokio::task::spawn_blocking(move || server.shown.answer(place, &id, &query));
    made.await.unwrap_or_else(|_| {
        Answer::line(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal error; see the log",
        )
    })
}

/// Returns the answer to a request that is refused before its path is looked at.
fn refusal(server: &Server, request: &Request<Incoming>) -> Option<Answer> {
    // A proxy may have looked at another of these names than we would (RFC 9112, 3.2).
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return Some(Answer::line(StatusCode::BAD_REQUEST, "two Host headers"));
    }
    if request.uri().authority().is_some() {
        let why = "ask for a path, and name the host in the Host header";
        return Some(Answer::line(StatusCode::BAD_REQUEST, why));
    }
    let is_login = request.method() == Method::POST && request.uri().path() == "/login";
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_reading && !is_login {
        let answer = Answer::line(StatusCode::METHOD_NOT_ALLOWED, "this server is read-only");
        return Some(answer.with(header::ALLOW, "GET, HEAD"));
    }
    let limit = if is_login { LOGIN_MAX as u64 } else { 0 };
    let size = request.body().size_hint();
    let is_announced = !request.body().is_end_stream() && !is_login;
    if is_announced || size.lower() > limit {
        let answer = Answer::line(StatusCode::PAYLOAD_TOO_LARGE, "send no body");
        return Some(answer.with(header::CONNECTION, "close"));
    }
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|it| it.to_str().ok());
    if server.bound.ip().is_loopback() && !is_own_name(host, server.bound) {
        let why = "the Host header is not a name of this machine: ask for http://localhost, or \
                   have the proxy send `Host: localhost`";
        return Some(Answer::line(StatusCode::MISDIRECTED_REQUEST, why));
    }
    None
}

/// Compares the token of the form, and gives the browser its cookie.
async fn login(server: &Server, request: Request<Incoming>) -> Answer {
    let see_live = Answer::line(StatusCode::SEE_OTHER, "logged in").with(header::LOCATION, "/");
    let Some(token) = &server.token else {
        return see_live;
    };
    let body = Limited::new(request.into_body(), LOGIN_MAX).collect();
    let Ok(Ok(body)) = tokio::time::timeout(LOGIN_WITHIN, body).await else {
        return Answer::line(
            StatusCode::BAD_REQUEST,
            "the form with the token did not arrive",
        );
    };
    let body = body.to_bytes();
    let form = String::from_utf8_lossy(&body);
    let shown = form.split('&').find_map(|pair| pair.strip_prefix("token="));
    match shown.map(form_value) {
        Some(shown) if token.is(&shown) => see_live.with(header::SET_COOKIE, &token.cookie()),
        _ => unauthorized(Place::Login, true),
    }
}

/// Decodes a value of a form (`application/x-www-form-urlencoded`).
fn form_value(text: &str) -> String {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let hex = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                digit(*high)
                    .zip(digit(*low))
                    .map(|(high, low)| 16 * high + low)
            }
            _ => None,
        };
        match hex.and_then(|value| u8::try_from(value).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = &after[2..];
            }
            None if *first == b'+' => decoded.push(b' '),
            None => decoded.push(*first),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_form_is_decoded() {
        let check = |text: &str, expected: &str| assert_eq!(form_value(text), expected, "{text}");
        check("plain", "plain");
        check("a%2Bb+c%3d", "a+b c=");
        check("%", "%");
        check("%zz%4", "%zz%4");
        check("%ff", "\u{fffd}");
    }
}
