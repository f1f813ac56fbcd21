//! Names in commands that a person pastes into a shell, perhaps as root.

use std::borrow::Cow;

/// Quotes a name as one word of a shell, so that its author cannot have anything run. Every name
/// that others chose stands in a command only through this.
pub fn shell_word(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@%+=,-".contains(&byte);
    match !name.is_empty() && name.bytes().all(is_plain) {
        true => Cow::Borrowed(name),
        // No backslash, which a line end behind it would make void.
        false => Cow::Owned(format!("'{}'", name.replace('\'', r#"'"'"'"#))),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::shell_word;

    #[test]
    fn only_what_is_not_plain_is_quoted() {
        assert_eq!(
            shell_word("postgresql@15-main.service"),
            "postgresql@15-main.service"
        );
        assert_eq!(shell_word("unit:db@1.service"), "unit:db@1.service");
        assert_eq!(shell_word(r"a\x2db.slice"), r"'a\x2db.slice'");
        assert_eq!(shell_word("it's;reboot"), r#"'it'"'"'s;reboot'"#);
        assert_eq!(shell_word(""), "''");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_shell_reads_the_name_again(name in "[^\0]{0,40}|[\'\"\\\\ \n;$`]{0,20}") {
            let script = format!("printf %s {}", shell_word(&name));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), name);
        }
    }
}
