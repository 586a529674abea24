//! Catching a panic without printing it.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

thread_local! {
    /// The message of the panic under way, on threads inside [`guarded`].
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
    static DEPTH: RefCell<u32> = const { RefCell::new(0) };
}

static HOOK: Once = Once::new();

/// What stops a function that has taken too long. It is no bug, so a message of these words alone comes without a place.
pub const TIME_LIMIT: &str = "time limit";

/// Runs `work`; a panic inside becomes its message, with its place.
///
/// Whatever `work` was changing is suspect afterwards: the caller throws it away.
///
/// # Errors
/// The panic's message.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let outer = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if DEPTH.with_borrow(|depth| *depth > 0) {
                MESSAGE.with_borrow_mut(|message| *message = Some(message_of(info)));
            } else {
                outer(info);
            }
        }));
    });
    DEPTH.with_borrow_mut(|depth| *depth += 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    DEPTH.with_borrow_mut(|depth| *depth -= 1);
    result.map_err(|payload| {
        let message = MESSAGE.with_borrow_mut(Option::take);
        message.unwrap_or_else(|| text_of(payload.as_ref()))
    })
}

fn message_of(info: &PanicHookInfo<'_>) -> String {
    let text = text_of(info.payload());
    match info.location() {
        Some(place) if text != TIME_LIMIT => format!("{text}, at {}:{}", place.file(), place.line()),
        _ => text,
    }
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        let message = guarded(|| panic!("row {} is lost", 7)).unwrap_err();
        assert!(message.starts_with("row 7 is lost, at ") && message.contains("guard.rs:"), "{message}");
        assert_eq!(guarded(|| panic!("{TIME_LIMIT}")), Err::<(), _>("time limit".to_owned()));
        assert_eq!(guarded(|| 5), Ok(5));
    }
}
