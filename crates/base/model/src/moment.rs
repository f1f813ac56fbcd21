//! Moments as people read them.

/// Returns `2026-11-21 03:04 UTC` for `2026-11-21T03:04:05+00:00`, other zones as they are
/// written, and any other text unchanged.
pub fn moment(at: &str) -> String {
    let minute = minute(at);
    let zone = at.get(19..).filter(|_| minute != at);
    match zone {
        None | Some("") => minute,
        Some("Z" | "+00:00") => format!("{minute} UTC"),
        Some(zone) => format!("{minute} {zone}"),
    }
}

/// Returns `2026-11-21 03:04` for `2026-11-21T03:04:05+00:00`, and any other text unchanged.
pub fn minute(at: &str) -> String {
    match at.split_once('T') {
        Some((date, time)) if date.len() == 10 && time.is_char_boundary(5) && time.len() > 5 => {
            format!("{date} {}", &time[..5])
        }
        _ => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn a_moment_has_its_zone() {
        let check = |at: &str, expected: &str| assert_eq!(moment(at), expected);
        check("2026-11-21T03:04:05+00:00", "2026-11-21 03:04 UTC");
        check("2026-11-21T03:04:05Z", "2026-11-21 03:04 UTC");
        check("2026-11-21T03:04:05+01:00", "2026-11-21 03:04 +01:00");
        check("2026-11-21T03:04:05", "2026-11-21 03:04");
        check("21-Nov-14 03:04:05", "21-Nov-14 03:04:05");
        check("2026-11-21T03:04é", "2026-11-21 03:04");
        check("", "");
    }
}
