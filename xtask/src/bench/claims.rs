//! The claims of a benchmark: each claim is printed with what was found, and one that is not met
//! fails the benchmark.

use anyhow::{Result, bail};

use super::turns::{Median, Turns};

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

    /// Judges a median that may be so much.
    pub(super) fn at_most(&mut self, what: &str, found: Median, most: f64, unit: &str) {
        let (found, is_met) = (format!("{what}: {found} {unit}"), found.median <= most);
        self.add(&found, &format!("at most {most} {unit}"), is_met);
    }

    /// Judges a median that must be so much.
    pub(super) fn at_least(&mut self, what: &str, found: Median, least: f64, unit: &str) {
        let (found, is_met) = (format!("{what}: {found} {unit}"), found.median >= least);
        self.add(&found, &format!("at least {least} {unit}"), is_met);
    }

    /// Judges a ratio that must be about 1.
    pub(super) fn near_one(&mut self, what: &str, ratio: Median, tolerance: f64) {
        let claim = format!("within {:.0} % of 1", 100.0 * tolerance);
        let is_met = (ratio.median - 1.0).abs() <= tolerance;
        self.add(&format!("{what}: ratio {ratio}"), &claim, is_met);
    }

    /// Judges a subject, which may take so many times what its peer takes in the same rounds.
    pub(super) fn at_most_times(
        &mut self,
        turns: &Turns,
        subject: &str,
        most: f64,
        peer: &str,
    ) -> Result<()> {
        let unit = format!("times {peer}");
        self.at_most(subject, turns.ratio(subject, peer)?, most, &unit);
        Ok(())
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
    use super::{Claims, Median, Turns};

    fn error(claim: impl FnOnce(&mut Claims)) -> String {
        let mut claims = Claims::default();
        claims.add("ratio 1.00", "within 2 %", true);
        claim(&mut claims);
        let error = claims.conclude().err();
        error.map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn one_claim_that_is_not_met_fails() {
        let slow = error(|it| it.add("curve in 9 s", "below 5 s", false));
        assert_eq!(slow, "not met: curve in 9 s (claim: below 5 s)");
        let absent = error(|it| it.not_compared("lat_mem_rd", "no such package"));
        assert_eq!(
            absent,
            "not met: lat_mem_rd was not compared: no such package"
        );
        assert_eq!(error(|_| ()), "");
    }

    #[test]
    fn medians_are_judged_at_their_limits() {
        let check = |claim: fn(&mut Claims, Median), met: f64, not_met: f64| {
            for (median, is_met) in [(met, true), (not_met, false), (f64::NAN, false)] {
                let [low, high] = [0.0, 99.0];
                let said = error(|it| claim(it, Median { median, low, high }));
                assert_eq!(said.is_empty(), is_met, "{median}: {said}");
            }
        };
        check(|it, found| it.at_most("it", found, 2.0, "ms"), 2.0, 2.1);
        check(|it, found| it.at_least("it", found, 2.0, "ms"), 2.0, 1.9);
        check(|it, found| it.near_one("it", found, 0.02), 1.019, 1.03);
        check(|it, found| it.near_one("it", found, 0.02), 0.981, 0.97);
    }

    #[test]
    fn a_peer_is_compared_round_by_round() {
        let mut turns = Turns::default();
        for (ours, theirs) in [(2.0, 1.0), (2.0, 1.0), (90.0, 90.0)] {
            turns.note("ours", ours);
            turns.note("theirs", theirs);
        }
        let times = |most| {
            error(|it| {
                it.at_most_times(&turns, "ours", most, "theirs").unwrap();
            })
        };
        assert_eq!(times(2.0), "");
        let expected = "not met: ours: 2.00 (1.00 to 2.00) times theirs (claim: at most 1.9 times \
                        theirs)";
        assert_eq!(times(1.9), expected);
    }
}
