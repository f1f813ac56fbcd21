//! The client library connects with what `pglogin` found.

use pglogin::{Login, ServerUrl};
use postgres::{Client, NoTls};
use server::Error;

use crate::error;

/// Connects as the user whom the server accepts.
///
/// # Errors
/// Those of the library.
pub(crate) fn connect(login: &Login) -> Result<Client, Error> {
    connect_with(login, &|_| {}).map_err(error::client("connecting to the server"))
}

/// Finds out how the server lets numalab in.
///
/// # Errors
/// When the server does not answer, or refuses.
pub(crate) fn find(url: ServerUrl) -> Result<(Login, Client), Error> {
    let found = Login::find(url, |login| {
        connect_with(login, &|_| {}).map_err(pglogin::Error::client(login.connecting()))
    });
    found.map_err(error::login)
}

/// Connects as [`connect`] does, with settings that only this library has.
///
/// # Errors
/// Those of the library.
pub(crate) fn connect_with(
    login: &Login,
    set: &(dyn Fn(&mut postgres::Config) + Sync),
) -> Result<Client, postgres::Error> {
    login.as_accepted(|| {
        let mut config = postgres::Config::from(login.config.clone());
        set(&mut config);
        config.connect(NoTls)
    })
}
