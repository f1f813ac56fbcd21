//! What a machine does, as a script of a POSIX shell: each step once, whatever the others did, then
//! what was measured is sent. It is the same under every engine.

use model::shell_word;

use crate::plan::Plan;

/// What comes before the steps. The folder is the host's own, since homes may be on a file system
/// of all hosts. A step that was done is not done again when an engine tries again.
const HEAD: &str = r#"
# With the name of a step, does that step alone; with `end`, sends alone.
set -u
umask 077
numalab=${NUMALAB:-numalab}
state=${NUMALAB_FLEET_STATE:-${XDG_STATE_HOME:-${HOME:?is not set}/.local/state}/numalab-fleet}
state=$state/$plan/$(uname -n)
mkdir -p "$state" || exit 2
only=${1:-}

step() { # NAME SECONDS WORDS…: does a step, unless it was done before.
    name=$1 seconds=$2
    shift 2
    case $only in "" | "$name") ;; *) return ;; esac
    if [ -e "$state/$name.done" ]; then return; fi
    if timeout -k 30 "$seconds" "$numalab" "$@" --store "$state/runs.sqlite" </dev/null; then
        : >"$state/$name.done"
        rm -f "$state/$name.failed"
        # The machine may not live to the end; that it was not sent is told there.
        if [ -z "$only" ]; then push >/dev/null 2>&1; fi
    else
        code=$?
        echo "numalab fleet: $name failed on $(uname -n): exit code $code" >&2
        echo "$code" >"$state/$name.failed"
    fi
}

push() {
    "$numalab" push --all --store "$state/runs.sqlite" --to "$store"
}

send() { # Sends what was measured and is not there yet; a busy store is tried again.
    case $only in "" | end) ;; *) return ;; esac
    if [ ! -e "$state/runs.sqlite" ]; then return; fi
    for wait in 0 30 120 300; do
        sleep "$wait"
        push && return
    done
    echo "numalab fleet: what $(uname -n) measured is kept in $state and was not sent" >&2
    exit 2
}
"#;

/// What comes after the steps.
const END: &str = r#"send
case $only in "" | end) ;; *) exit 0 ;; esac
for failed in "$state"/*.failed; do
    if [ -e "$failed" ]; then exit 1; fi
done
exit 0
"#;

/// The script; `options` are lines for the engine, after the first.
pub(crate) fn script(plan: &Plan, options: &str) -> String {
    let mut text = format!(
        "#!/bin/sh\n{options}# Made by `numalab fleet plan`. Measures this machine and sends what \
         it measured.\n# Exit code 1: a step failed; 2: nothing was sent.\nplan={}\nstore={}\n\
         {HEAD}\n",
        plan.name,
        plan.store_word(),
    );
    for step in &plan.steps {
        let words = step.words(plan.within_s);
        let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
        let limit = step.limit_s(plan.within_s);
        text += &format!("step {} {limit} {}\n", step.short_name(), words.join(" "));
    }
    text + END
}
