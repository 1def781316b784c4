// tests/deploy/embedded/archive.cpp -- something for a library to hold beside its bundle.
int in_library() { return 1; }
