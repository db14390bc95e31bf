//! The words of this command line that are meant for the other host.

use crate::format::command_line;

/// What is decided here and not there: who is asked, and in what form.
const OURS: &[&str] = &["--host=", "--hosts=", "--connect-timeout=", "--answer-timeout=", "--color="];
/// The form of an answer that is made of theirs.
pub(crate) const FORM: &[&str] = &["--format=", "--json"];

/// Returns the words for another host: those that were typed here without what is decided here, and some more.
pub(crate) fn of_others(typed: &[String], without: &[&str], with: &[String]) -> Vec<String> {
    let left_out: Vec<&str> = OURS.iter().chain(without).copied().collect();
    command_line::without(typed, &left_out, with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_and_in_what_form_is_not_said_to_the_one_that_is_asked() {
        let typed = ["list", "--host", "a", "--hosts=b,c", "--json", "-r", "--since", "7d", "--", "--host"];
        let typed: Vec<String> = typed.map(str::to_owned).to_vec();
        let with = ["--format=ndjson".to_owned()];
        let there = ["list", "-r", "--since", "7d", "--format=ndjson", "--", "--host"];
        assert_eq!(of_others(&typed, FORM, &with), there);
    }
}
