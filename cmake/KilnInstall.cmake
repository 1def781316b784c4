# Installation and the package that find_package(kiln) reads. Everything is relative to the prefix, so the installed tree
# can be moved. Headers need the standard library only; nothing here mentions CUDA, LLVM or fmt.
include(CMakePackageConfigHelpers)

install(TARGETS kiln EXPORT kilnTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT kiln)
if(TARGET kiln_cpu)
  # Opened at run time by libkiln.so, which looks beside itself first: never linked, hence not exported.
  install(TARGETS kiln_cpu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT kiln)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT kiln
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(EXPORT kilnTargets NAMESPACE kiln:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kiln COMPONENT kiln)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kilnConfig.cmake.in ${PROJECT_BINARY_DIR}/kilnConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kilnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kilnConfig.cmake ${PROJECT_BINARY_DIR}/kilnConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/KilnEmbed.cmake ${PROJECT_SOURCE_DIR}/cmake/kilnEmbeddedBundle.cpp.in
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kiln COMPONENT kiln)
