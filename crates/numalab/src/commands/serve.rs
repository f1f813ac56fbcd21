//! `numalab serve`: this machine and the stored runs as pages, JSON and metrics.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use model::exit::ExitCode;
use serve::{Limits, Server, Settings};

use crate::capture::MachineRoot;
use crate::failure::Failure;
use crate::interrupt;
use crate::observation::Observation;
use crate::output;
use crate::serving::served_content::ServedContent;
use crate::serving::served_token;
use crate::serving::stored_figures::StoredFigures;

/// Options of `numalab serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Listen on this address; port 0 takes a free port. Beyond this machine (an address other than
    /// 127.0.0.1 or ::1), a token is required.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7755")]
    #[arg(value_parser = address)]
    pub listen: SocketAddr,
    /// Require the token in this file, which only its owner can read [default: the token in the
    /// variable NUMALAB_TOKEN, if it is set].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Show another machine: a directory with its /sys and /proc, as a container has them of its
    /// host, read again at each look, or an archive written by `numalab capture`.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
}

/// Serves until it is asked to end.
pub(crate) fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let token = served_token::read(arguments.token_file.as_deref())?;
    let has_token = token.is_some();
    let stored = StoredFigures::of_store(arguments.store.place()?);
    let machine = MachineRoot::at(arguments.root.as_deref())?;
    let content = ServedContent::new(Observation::of(machine.root())?, stored);
    let cancel = interrupt::cancel_on_signals()?;
    let settings = Settings {
        address: arguments.listen,
        token,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        limits: Limits::default(),
    };
    let server = Server::bind(settings, Box::new(content))?;
    let address = server.address();
    if linux::process::is_root() && !has_token {
        output::talk(
            "every user of this machine can read root's runs and where memory lies; \
             --token-file FILE keeps others out",
        );
    }
    if !address.ip().is_loopback() {
        output::talk(
            "without TLS, everyone on the way can read the token and the answers; put a \
             proxy with TLS before it (docs/serve.md)",
        );
    }
    // The last line: whoever waits for it has seen the warnings.
    output::talk(&format!("serving http://{address} (Ctrl-C ends it)"));
    server.run(|| cancel.is_cancelled());
    Ok(())
}

/// Parses the address to listen on.
fn address(text: &str) -> Result<SocketAddr, String> {
    let wrong = |_| "expected ADDRESS:PORT, such as 127.0.0.1:7755 or [::1]:7755".to_owned();
    text.parse().map_err(wrong)
}

impl From<serve::Error> for Failure {
    fn from(error: serve::Error) -> Self {
        let message = error.to_string();
        let (exit_code, advice) = match &error {
            serve::Error::NoToken { .. } => (ExitCode::Usage, served_token::MAKE_ONE.to_owned()),
            serve::Error::Listen { address, cause } => match cause.kind() {
                io::ErrorKind::AddrInUse => (ExitCode::Usage, port_taken(*address)),
                io::ErrorKind::PermissionDenied => (
                    ExitCode::NotPermitted,
                    "ports below 1024 need CAP_NET_BIND_SERVICE; use --listen 127.0.0.1:7755"
                        .into(),
                ),
                _ => (
                    ExitCode::Usage,
                    "name an address of this machine (ip -brief address)".to_owned(),
                ),
            },
            serve::Error::Start(_) => return Failure::new(ExitCode::MachineCannot, message),
        };
        Failure::new(exit_code, message).advise(advice)
    }
}

fn port_taken(address: SocketAddr) -> String {
    let port = address.port();
    let another = SocketAddr::new(address.ip(), port.checked_add(1).unwrap_or(7755));
    format!("use another port: --listen {another}; or end what listens: ss -ltnp 'sport = :{port}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        assert!(address("127.0.0.1:0").is_ok() && address("[::1]:7755").is_ok());
        for wrong in [
            "",
            "7755",
            ":7755",
            "localhost:7755",
            "::1:7755",
            "1.2.3.4:65536",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
