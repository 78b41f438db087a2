//! Runs one test over each view of a workspace.

/// Declares, for each test function that takes a `ViewKind`, a test over each kind of view.
macro_rules! over_both_views {
    ($($test:ident),* $(,)?) => {
        over_both_views! { #[test] $($test),* }
    };
    (#[$attribute:meta] $($test:ident),* $(,)?) => {
        $(
            mod $test {
                use crate::tools::session::ViewKind;

                #[$attribute]
                async fn in_a_directory() {
                    super::$test(ViewKind::Directory).await;
                }

                #[$attribute]
                async fn in_memory() {
                    super::$test(ViewKind::Memory).await;
                }
            }
        )*
    };
}
