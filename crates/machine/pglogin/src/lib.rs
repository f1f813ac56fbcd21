//! How a user logs in to a PostgreSQL server: what libpq takes from a URL, variables, a service and
//! the password file; and whether the server answers. It runs no statement.
#![forbid(unsafe_code)]

mod answering;
mod error;
mod login;
mod passwords;
mod places;
mod server_url;
mod surroundings;

pub use answering::require_answer;
pub use error::{Error, words_of};
pub use login::Login;
pub use passwords::Passwords;
pub use places::{SOCKET_DIRECTORIES, addresses};
pub use server_url::{ServerUrl, without_password};
pub use surroundings::Surroundings;
