//! Pages that show nothing of the machine: the login, errors, and the table of paths.

use super::html::{escaped, page};

/// Returns the form for the token.
pub(crate) fn login_page(was_wrong: bool) -> String {
    let said = match was_wrong {
        true => "<p role=\"alert\">This is not the token.</p>\n",
        false => "",
    };
    let main = format!(
        "<h1>Token</h1>\n{said}<form method=\"post\" action=\"/login\">\n\
         <input name=\"user\" value=\"numalab\" autocomplete=\"username\" hidden>\n\
         <p><label>Token of this server \
         <input type=\"password\" name=\"token\" autocomplete=\"current-password\" required \
         autofocus></label> <button>Log in</button></p>\n</form>\n"
    );
    page("Token", "", &main)
}

/// Returns the page for a path that does not exist; `paths` are those that do.
pub(crate) fn missing_page(paths: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let paths = paths.map(|(path, shows)| {
        let shows = escaped(&shows.replace('`', ""));
        format!("<li><code>{path}</code> {shows}</li>\n")
    });
    let main = format!(
        "<h1>Not found</h1>\n<p>This server has:</p>\n<ul>\n{}</ul>\n",
        paths.collect::<String>()
    );
    page("Not found", "", &main)
}

/// Returns the page for something that cannot be shown.
pub(crate) fn problem_page(title: &str, why: &str) -> String {
    let main = format!("<h1>{}</h1>\n<p>{}</p>\n", escaped(title), escaped(why));
    page(title, "", &main)
}
