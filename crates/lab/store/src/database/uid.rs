//! What tells one thing from all others, on whatever machine they are made.

use crate::Error;

/// Returns 128 random bits in hexadecimal digits.
pub(crate) fn new_uid() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|cause| Error::NotStorable {
        what: "a random id",
        cause: cause.to_string(),
    })?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
