// kiln/kiln.h -- everything: include this.
#pragma once

#include <kiln/create.h>
#include <kiln/error.h>
#include <kiln/jit.h>
#include <kiln/npy.h>
#include <kiln/random.h>
