//! Where a store is: a file of this machine, or a database of a PostgreSQL server.

use std::fmt;
use std::path::{Path, PathBuf};

use pglogin::{Error, ServerUrl, without_password};

/// Where a store is.
#[derive(Clone)]
pub enum Place {
    /// An SQLite file.
    File(PathBuf),
    /// The schema `numalab` of a database of this server.
    Server(Box<ServerUrl>),
}

impl Place {
    /// Reads what a user named: the URL of a server, else a file. What the URL lacks comes from
    /// where libpq takes it.
    ///
    /// # Errors
    /// When it is a URL that is not understood; the message does not show it.
    pub fn named(text: &Path) -> Result<Self, Error> {
        let is_url = |text: &&str| {
            let mut schemes = ["postgresql://", "postgres://"].into_iter();
            schemes.any(|scheme| text.starts_with(scheme))
        };
        match text.to_str().filter(is_url) {
            Some(url) => Ok(Place::Server(Box::new(ServerUrl::parse(url, false)?))),
            None => Ok(Place::File(text.to_owned())),
        }
    }

    /// Whether the URL itself has a password, which stands on the command line.
    pub fn has_password(&self) -> bool {
        matches!(self, Place::Server(url) if url.has_password())
    }

    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Place::Server(_))
    }
}

/// The place in messages: without a password, and with nothing that disturbs a terminal.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => write!(f, "{path:?}"),
            Place::Server(url) => {
                let shown = without_password(&url.config);
                let shown: String = shown.chars().flat_map(escaped).collect();
                write!(f, "in PostgreSQL ({shown})")
            }
        }
    }
}

fn escaped(character: char) -> Box<dyn Iterator<Item = char>> {
    match character.is_control() {
        true => Box::new(character.escape_default()),
        false => Box::new(std::iter::once(character)),
    }
}

/// The same as the text for users, so that no log shows a password.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        Place::File(path.to_owned())
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Self {
        Place::File(path.clone())
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Self {
        place.clone()
    }
}
