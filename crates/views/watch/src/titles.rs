//! What a process does, by the title that it gave itself.

/// The role in a title of PostgreSQL, such as `walwriter`; the title of another server that begins
/// with its name, such as `nginx: worker process`; else the name.
pub(crate) fn role<'a>(name: &'a str, command: Option<&'a str>) -> &'a str {
    let after_name = command.and_then(|it| it.strip_prefix(name)?.strip_prefix(": "));
    let (Some(command), Some(role)) = (command, after_name) else {
        return name;
    };
    if name != "postgres" {
        return command;
    }
    // postgres: 17/main: walwriter, where the server has a cluster_name.
    let role = match role.split_once(": ") {
        Some((cluster, role)) if !cluster.contains(' ') => role,
        _ => role,
    };
    match role.trim() {
        "" => name,
        role => role,
    }
}

#[cfg(test)]
mod tests {
    use super::role;
    use proptest::prelude::*;

    #[test]
    fn a_title_says_what_a_process_does() {
        let check = |name, command: &str, expected| {
            assert_eq!(role(name, Some(command)), expected, "{command}");
        };
        check("postgres", "postgres: walwriter ", "walwriter");
        check("postgres", "postgres: 17/main: io worker 1", "io worker 1");
        let session = "postgres: eve shop [local] SELECT";
        check("postgres", session, "eve shop [local] SELECT");
        check("postgres", "postgres: walsender a: b", "walsender a: b");
        check(
            "postgres",
            "/usr/lib/postgresql/17/bin/postgres -D /data",
            "postgres",
        );
        check("postgres", "postgres: ", "postgres");
        check("nginx", "nginx: worker process", "nginx: worker process");
        check("sleep", "sleep 600", "sleep");
        assert_eq!(role("sleep", None), "sleep");
    }

    proptest! {
        #[test]
        fn any_title_has_a_role(name in "postgres|[a-z:é ]{0,4}", rest in "[a-z: é]{0,12}") {
            let command = format!("{name}{rest}");
            prop_assert!(command.contains(role(&name, Some(&command))));
        }
    }
}
