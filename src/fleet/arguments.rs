//! The words of this command line that are meant for the other host.

use crate::format::command_line;

/// Options that this machine handles: the hosts to ask, and the form of the answer.
const OURS: &[&str] = &["--host=", "--hosts=", "--connect-timeout=", "--answer-timeout=", "--color="];
/// Options for the form of an answer that is built from the hosts' answers.
pub(crate) const FORM: &[&str] = &["--format=", "--json"];

/// Returns the words for another host: the typed ones without those that this machine handles, and some more.
pub(crate) fn of_others(typed: &[String], without: &[&str], with: &[String]) -> Vec<String> {
    let left_out: Vec<&str> = OURS.iter().chain(without).copied().collect();
    command_line::without(typed, &left_out, with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_form_are_not_passed_to_the_other_host() {
        let typed = ["list", "--host", "a", "--hosts=b,c", "--json", "-r", "--since", "7d", "--", "--host"];
        let typed: Vec<String> = typed.map(str::to_owned).to_vec();
        let with = ["--format=ndjson".to_owned()];
        let there = ["list", "-r", "--since", "7d", "--format=ndjson", "--", "--host"];
        assert_eq!(of_others(&typed, FORM, &with), there);
    }
}
