//! Who may read: the token, the cookie of a browser that has shown it, and the name under which a
//! loopback server was asked.

use std::hint::black_box;
use std::net::SocketAddr;

/// Minimum length of a token, in bytes: 16 random letters and digits are 95 bits.
pub const TOKEN_MIN: usize = 16;
/// The name of the cookie.
const COOKIE: &str = "numalab_session";

/// The secrets of a server that asks for a token.
#[derive(Clone)]
pub struct Token {
    token: String,
    session: String,
}

impl Token {
    /// Takes the token, and 32 random bytes that make the cookie of this server's browsers; the
    /// cookie does not hold the token. `None` if the token is shorter than [`TOKEN_MIN`] or has
    /// other than visible ASCII characters.
    #[must_use]
    pub fn new(token: &str, random: [u8; 32]) -> Option<Self> {
        let is_fit = token.len() >= TOKEN_MIN && token.bytes().all(|it| it.is_ascii_graphic());
        let session = random.iter().map(|byte| format!("{byte:02x}")).collect();
        is_fit.then(|| Self {
            token: token.to_owned(),
            session,
        })
    }

    /// Whether this is the token.
    pub(super) fn is(&self, shown: &str) -> bool {
        is_equal(shown.as_bytes(), self.token.as_bytes())
    }

    /// Whether a request with these headers shows the token or the cookie.
    pub(super) fn admits(&self, authorization: Option<&str>, cookies: Option<&str>) -> bool {
        let bearer = authorization.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme
                .eq_ignore_ascii_case("bearer")
                .then_some(token.trim())
        });
        let mut cookies = cookies.unwrap_or_default().split(';');
        let session = cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == COOKIE).then_some(value)
        });
        bearer.is_some_and(|it| self.is(it))
            || session.is_some_and(|it| is_equal(it.as_bytes(), self.session.as_bytes()))
    }

    /// Returns the `Set-Cookie` header for a browser that has shown the token. It has no `Secure`:
    /// a browser would not send it to a server without TLS, of which the proxy takes care. It is
    /// `Lax`, since a report has no origin of its own: with `Strict`, its link back to the runs
    /// would end at the form for the token. Nothing can be changed here by leading a browser to a
    /// page.
    pub(super) fn cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Lax", self.session)
    }
}

/// Compares in a time that depends on the length of `shown` only, so that nobody finds a secret
/// byte by byte.
fn is_equal(shown: &[u8], secret: &[u8]) -> bool {
    let mut difference = u8::from(shown.len() != secret.len());
    for (index, byte) in shown.iter().enumerate() {
        let other = secret.get(index % secret.len().max(1)).copied();
        difference = black_box(difference | (byte ^ other.unwrap_or(!byte)));
    }
    difference == 0
}

/// Whether a server on a loopback address was asked by a name of this machine. A page of another
/// site can lead its own name here (DNS rebinding), and would then read the answers.
pub(super) fn is_own_name(host: Option<&str>, bound: SocketAddr) -> bool {
    let Some(host) = host else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_bound = name.trim_start_matches('[').trim_end_matches(']') == bound.ip().to_string();
    is_bound || matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_equal() {
        let check = |shown: &str, expected| {
            assert_eq!(is_equal(shown.as_bytes(), b"secret"), expected, "{shown}");
        };
        check("secret", true);
        check("secre", false);
        check("secretsecret", false);
        check("secreT", false);
        check("", false);
        assert!(!is_equal(b"x", b""));
    }

    #[test]
    fn a_token_is_taken_from_the_header_or_the_cookie_stands_for_it() {
        let token = Token::new("0123456789abcdef", [7; 32]).unwrap();
        let cookie = token.cookie();
        let cookie = cookie.split(';').next().unwrap();
        assert!(token.admits(Some("Bearer 0123456789abcdef"), None));
        assert!(token.admits(Some("bearer 0123456789abcdef"), None));
        assert!(token.admits(None, Some(&format!("theme=x; {cookie}"))));
        assert!(!token.admits(Some("Basic 0123456789abcdef"), None));
        assert!(!token.admits(Some("Bearer 0123456789abcdeg"), Some("numalab_session=")));
        assert!(!token.admits(None, Some("numalab_session=0123456789abcdef")));
        assert!(!token.admits(None, None));
        assert!(!cookie.contains("0123456789abcdef"));
    }

    #[test]
    fn short_tokens_and_those_that_no_header_can_carry_are_refused() {
        assert!(Token::new("short", [0; 32]).is_none());
        assert!(Token::new("0123456789abcdef ", [0; 32]).is_none());
        assert!(Token::new("0123456789abcdé", [0; 32]).is_none());
    }

    #[test]
    fn a_name_that_another_site_leads_here_is_not_ours() {
        let check = |host: &str, expected| {
            let bound = "127.0.0.1:7755".parse().unwrap();
            assert_eq!(is_own_name(Some(host), bound), expected, "{host}");
        };
        check("127.0.0.1:7755", true);
        check("localhost:8080", true);
        check("localhost", true);
        check("[::1]:7755", true);
        check("evil.example:7755", false);
        check("127.0.0.1.evil.example", false);
        check("localhost.evil.example", false);
        check("", false);
        assert!(!is_own_name(None, "127.0.0.1:7755".parse().unwrap()));
    }
}
