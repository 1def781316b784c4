// kiln/detail/inspectable.h -- f.inspect(x, ...) of compiled functions, with the line where it was written.
#pragma once

#include <kiln/inspect.h>

namespace kiln::detail {

/// Overloads by number of arguments: behind a pack no default argument can note the caller's line. With more than
/// eight a line of the function stands in.
template <class Self>
class Inspectable {
 public:
  /// f.inspect(x, 2.0f): compiles without running and tells what was made of the function, for this device.
  kiln::Inspection inspect(Where w = Where::current()) const { return at(w); }
  template <class A>
  kiln::Inspection inspect(const A& a, Where w = Where::current()) const {
    return at(w, a);
  }
  template <class A, class B>
  kiln::Inspection inspect(const A& a, const B& b, Where w = Where::current()) const {
    return at(w, a, b);
  }
  template <class A, class B, class C>
  kiln::Inspection inspect(const A& a, const B& b, const C& c, Where w = Where::current()) const {
    return at(w, a, b, c);
  }
  template <class A, class B, class C, class D>
  kiln::Inspection inspect(const A& a, const B& b, const C& c, const D& d, Where w = Where::current()) const {
    return at(w, a, b, c, d);
  }
  template <class A, class B, class C, class D, class E>
  kiln::Inspection inspect(const A& a, const B& b, const C& c, const D& d, const E& e,
                           Where w = Where::current()) const {
    return at(w, a, b, c, d, e);
  }
  template <class A, class B, class C, class D, class E, class F>
  kiln::Inspection inspect(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
                           Where w = Where::current()) const {
    return at(w, a, b, c, d, e, f);
  }
  template <class A, class B, class C, class D, class E, class F, class G>
  kiln::Inspection inspect(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
                           Where w = Where::current()) const {
    return at(w, a, b, c, d, e, f, g);
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H>
  kiln::Inspection inspect(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
                           const H& h, Where w = Where::current()) const {
    return at(w, a, b, c, d, e, f, g, h);
  }
  template <class... A>
    requires(sizeof...(A) > 8)
  kiln::Inspection inspect(const A&... arguments) const {
    return at(Where{}, arguments...);
  }

 private:
  template <class... A>
  kiln::Inspection at(Where w, const A&... arguments) const {
    return static_cast<const Self&>(*this).inspect_for({nullptr, w}, arguments...);
  }
};

}  // namespace kiln::detail
