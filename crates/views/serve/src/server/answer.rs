//! An answer before it is sent: status, kind and body, and the headers that every answer has.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};

/// What the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page of the server.
    Page,
    /// A document with its own style and script, which may do nothing else.
    Report,
    /// A JSON document.
    Json,
    /// Metrics in the text format of Prometheus.
    Metrics,
    /// Plain text.
    Text,
    /// A style sheet.
    Style,
    /// A script.
    Script,
}

/// Pages load the server's own style and script, ask it for figures, and send forms to it.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// A report has its style and script in itself. Whatever a name in it may smuggle in has no
/// origin, so that it can ask this server for nothing.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; sandbox allow-scripts";
/// What is no page needs nothing.
const OTHER_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

impl Kind {
    fn content_type(self) -> &'static str {
        match self {
            Kind::Page | Kind::Report => "text/html; charset=utf-8",
            Kind::Json => "application/json",
            Kind::Metrics => "text/plain; version=0.0.4; charset=utf-8",
            Kind::Text => "text/plain; charset=utf-8",
            Kind::Style => "text/css; charset=utf-8",
            Kind::Script => "text/javascript; charset=utf-8",
        }
    }

    fn policy(self) -> &'static str {
        match self {
            Kind::Page => PAGE_POLICY,
            Kind::Report => REPORT_POLICY,
            _ => OTHER_POLICY,
        }
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    status: StatusCode,
    kind: Kind,
    body: String,
    headers: HeaderMap,
}

impl Answer {
    /// Creates an answer.
    pub(super) fn new(status: StatusCode, kind: Kind, body: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            body: body.into(),
            headers: HeaderMap::new(),
        }
    }

    /// Creates an answer that is one line of text.
    pub(super) fn line(status: StatusCode, text: &str) -> Self {
        Self::new(status, Kind::Text, format!("{text}\n"))
    }

    /// Adds a header; one that cannot be sent is left out.
    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Returns it as it is sent.
    pub(super) fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        *headers = self.headers;
        let fixed = [
            (header::CONTENT_TYPE, self.kind.content_type()),
            (header::CONTENT_SECURITY_POLICY, self.kind.policy()),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-store"),
            (
                HeaderName::from_static("cross-origin-resource-policy"),
                "same-origin",
            ),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
