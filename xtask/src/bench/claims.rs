//! The claims of a benchmark: each claim is printed with what was found, and one that is not met
//! fails the benchmark.

use anyhow::{Result, bail};

/// Claims so far.
#[derive(Debug, Default)]
pub(super) struct Claims {
    not_met: Vec<String>,
}

impl Claims {
    /// Prints what was found and whether it meets the claim.
    pub(super) fn add(&mut self, found: &str, claim: &str, is_met: bool) {
        let verdict = if is_met { "met" } else { "NOT MET" };
        println!("{found}; claim: {claim}: {verdict}");
        if !is_met {
            self.not_met.push(format!("{found} (claim: {claim})"));
        }
    }

    /// Records a peer that could not be compared: no claim about it is met.
    pub(super) fn not_compared(&mut self, peer: &str, why: &str) {
        println!("NOT COMPARED: {peer}: {why}");
        self.not_met.push(format!("{peer} was not compared: {why}"));
    }

    /// Fails if a claim was not met.
    pub(super) fn conclude(self) -> Result<()> {
        match self.not_met.is_empty() {
            true => Ok(()),
            false => bail!("not met: {}", self.not_met.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Claims;

    #[test]
    fn one_claim_that_is_not_met_fails() {
        let mut claims = Claims::default();
        claims.add("ratio 1.00", "within 2 %", true);
        claims.add("curve in 9 s", "below 5 s", false);
        let error = claims.conclude().unwrap_err().to_string();
        assert_eq!(error, "not met: curve in 9 s (claim: below 5 s)");
        assert!(Claims::default().conclude().is_ok());
        let mut claims = Claims::default();
        claims.not_compared("lat_mem_rd", "no such package");
        let error = claims.conclude().unwrap_err().to_string();
        assert_eq!(
            error,
            "not met: lat_mem_rd was not compared: no such package"
        );
    }
}
