//! Catching a panic without printing it.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// The message of the panic under way, on threads inside [`guarded`].
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
    static DEPTH: RefCell<u32> = const { RefCell::new(0) };
}

static HOOK: Once = Once::new();

/// Runs `work`; a panic inside becomes its message and place.
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
                MESSAGE.with_borrow_mut(|message| *message = Some(info.to_string()));
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
        assert!(message.contains("row 7 is lost") && message.contains("guard.rs"), "{message}");
        assert_eq!(guarded(|| 5), Ok(5));
    }
}
