//! Listens, and holds every connection to its limits: size of the head, time, and number.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::access::Token;
use super::clients::{Asked, Clients};
use super::latest::Latest;
use super::request;
use super::shown::Shown;
use crate::content::Content;

/// Maximum size of the head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;
/// A connection is closed after this time, so that a client which does not read its answer keeps
/// nothing.
const CONNECTION_WITHIN: Duration = Duration::from_secs(60);
/// Connections beyond the limit that are told so at the same time; others are just closed.
const REFUSALS_MAX: usize = 64;
/// How often the server looks whether it shall end.
const STOP_EVERY: Duration = Duration::from_millis(200);
/// Answers that are being written may take this long when the server ends.
const END_WITHIN: Duration = Duration::from_secs(5);
/// Threads that read the machine and the store.
const READERS: usize = 4;

/// The first line of a request that is answered even where there is no place.
const HEALTH: &[u8] = b"GET /healthz HTTP/1.";
const HEALTHY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\
    content-length: 3\r\nconnection: close\r\n\r\nok\n";
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\
    content-length: 21\r\nretry-after: 1\r\nconnection: close\r\n\r\ntoo many connections\n";

/// Limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: u16,
    /// Maximum number of connections of one client: of an address, or of an IPv6 network of 64
    /// bits.
    pub connections_of_client: u16,
    /// The head of a request must arrive within this time.
    pub head_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 64,
            connections_of_client: 32,
            head_within: Duration::from_secs(10),
        }
    }
}

/// How a server is started.
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// The token that readers must show.
    pub token: Option<Token>,
    /// The version of numalab, shown in metrics.
    pub version: String,
    /// Its limits.
    pub limits: Limits,
}

/// Why the server cannot start.
#[derive(Debug)]
pub enum Error {
    /// It cannot listen on the address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// It listens on an address that others reach, without a token.
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// Its threads cannot be started.
    Start(io::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Listen { address, cause } => {
                write!(formatter, "cannot listen on {address}: {cause}")
            }
            Error::NoToken { address } => {
                write!(
                    formatter,
                    "others can reach {address}, and there is no token"
                )
            }
            Error::Start(cause) => write!(formatter, "cannot start the server: {cause}"),
        }
    }
}

impl std::error::Error for Error {}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    state: Arc<request::Server>,
    limits: Limits,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    ///
    /// The address is taken, or is not one of the loopback interface and there is no token.
    pub fn bind(settings: Settings, content: Box<dyn Content>) -> Result<Self, Error> {
        let Settings {
            address,
            token,
            version,
            limits,
        } = settings;
        if token.is_none() && !address.ip().is_loopback() {
            return Err(Error::NoToken { address });
        }
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS)
            .build()
            .map_err(Error::Start)?;
        let listen = |cause| Error::Listen { address, cause };
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(listen)?;
        let bound = listener.local_addr().map_err(listen)?;
        let state = request::Server {
            bound,
            token,
            shown: Shown {
                version,
                content,
                latest: Latest::default(),
            },
        };
        Ok(Self {
            runtime,
            listener,
            state: Arc::new(state),
            limits,
        })
    }

    /// Returns the address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.state.bound
    }

    /// Answers until `stop` returns true, then finishes the answers that are being written.
    pub fn run(self, stop: impl Fn() -> bool) {
        let Self {
            runtime,
            listener,
            state,
            limits,
        } = self;
        runtime.block_on(async {
            let mut clients = Clients::new(limits.connections, limits.connections_of_client);
            let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
            while !stop() {
                let (stream, address) = match timeout(STOP_EVERY, listener.accept()).await {
                    Err(_) => continue,
                    Ok(Ok((stream, address))) => (stream, address.ip()),
                    // Of the client's making, or no file descriptor is left: others will end.
                    Ok(Err(_)) => {
                        tokio::time::sleep(STOP_EVERY).await;
                        continue;
                    }
                };
                if clients.make_room(address) {
                    let state = Arc::clone(&state);
                    clients.spawn(address, |asked| serve(stream, state, limits, asked));
                } else if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
                    tokio::spawn(async move {
                        refuse(&stream).await;
                        drop(place);
                    });
                }
            }
            drop(listener);
            let _ = timeout(END_WITHIN, clients.all_gone()).await;
        });
        runtime.shutdown_timeout(END_WITHIN);
    }
}

async fn serve(stream: TcpStream, state: Arc<request::Server>, limits: Limits, asked: Asked) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (state, asked) = (Arc::clone(&state), asked.clone());
        async move {
            // A form is asked for when all of it has come.
            if request.method() != Method::POST {
                asked.set();
            }
            let response = request::handle(state, request).await;
            asked.set();
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_within)
        .max_buf_size(HEAD_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client disconnect is not an error.
    let _ = timeout(CONNECTION_WITHIN, connection).await;
}

/// Says that there are too many connections, or that the server is well, to who asks for that.
/// Reads what the client has sent, since closing a socket with unread bytes would take the answer
/// from it.
async fn refuse(stream: &TcpStream) {
    let answer = async {
        let (mut head, mut read) = (vec![0; HEAD_MAX], 0);
        // It may come in parts, and be said to be there before it is.
        while read < HEALTH.len() && HEALTH.starts_with(&head[..read]) {
            stream.readable().await?;
            match stream.try_read(&mut head[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        stream.writable().await?;
        stream.try_write(match head[..read].starts_with(HEALTH) {
            true => HEALTHY,
            false => FULL,
        })
    };
    let _ = timeout(Duration::from_secs(1), answer).await;
}
